internal import HTTPFields
internal import Limits

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.3).
package struct HTTPChallenge: Sendable, Equatable {
  /// The scheme's name in lower case.
  var scheme: String
  /// The token in place of parameters: an NTLM or Negotiate message.
  var token68: String?
  var parameters: Parameters = [:]

  /// Parameters in order, with names in lower case. Their list is short, so a search is faster than a table.
  struct Parameters: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    private struct Parameter: Sendable, Equatable {
      let name: String
      let value: String
    }
    private var all: [Parameter] = []

    init(dictionaryLiteral elements: (String, String)...) {
      for (name, value) in elements { append(name, value) }
    }

    mutating func append(_ name: String, _ value: String) { all.append(Parameter(name: name, value: value)) }

    /// Returns the value of the first parameter of that name.
    subscript(_ name: String) -> String? { all.first { $0.name == name }?.value }
  }

  var realm: String? { parameters["realm"] }

  /// Returns all challenges of a message, in order. A field may have several challenges, and a message several fields. Unreadable elements,
  /// and those beyond the limit, are skipped.
  package static func parse(_ fields: [String]) -> [HTTPChallenge] {
    let most = Limits.challenges.value
    var challenges: [HTTPChallenge] = []
    for field in fields {
      var scanner = Scanner(field)
      let first = challenges.count
      var parameters = 0
      while challenges.count <= most, scanner.skipSeparators() {
        guard let token = scanner.token() else {
          scanner.skipElement()
          continue
        }
        guard let value = scanner.parameterValue() else {
          let scheme = scanner.text(token).lowercasedASCII
          challenges.append(HTTPChallenge(scheme: scheme, token68: scanner.token68().map(scanner.text)))
          parameters = 0
          continue
        }
        // A parameter without a scheme before it is ignored. If a name is repeated, its first value counts.
        parameters += 1
        let last = challenges.count - 1
        guard last >= first, parameters <= most else { continue }
        challenges[last].parameters.append(scanner.text(token).lowercasedASCII, scanner.unquoted(value))
      }
    }
    if challenges.count > most { challenges.removeLast(challenges.count - most) }
    return challenges
  }
}

/// A scanner for a field's value.
private struct Scanner {
  private let bytes: [UInt8]
  private var index = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipBlanks() {
    while next == 0x20 || next == 0x09 { index += 1 }
  }

  /// Skips commas and blanks. Returns `false` at the end.
  mutating func skipSeparators() -> Bool {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: ",") { index += 1 }
    return index < bytes.count
  }

  /// Skips an element that does not begin with a token.
  mutating func skipElement() {
    index += 1
    while let byte = next, byte != UInt8(ascii: ",") { index += 1 }
  }

  mutating func token() -> Range<Int>? {
    let start = index
    while let byte = next, FieldName.isTokenByte(byte) { index += 1 }
    return index > start ? start..<index : nil
  }

  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// Scans `= value` after a parameter's name. Returns `nil`, without advancing, if no `=` follows.
  mutating func parameterValue() -> Range<Int>? {
    let start = index
    skipBlanks()
    guard next == UInt8(ascii: "=") else {
      index = start
      return nil
    }
    index += 1
    skipBlanks()
    if next == UInt8(ascii: "\"") { return quotedString() }
    return token() ?? index..<index
  }

  /// Returns the range of a quoted string, with its opening quote but without the closing one.
  private mutating func quotedString() -> Range<Int> {
    let start = index
    index += 1
    while let byte = next, byte != UInt8(ascii: "\"") { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
    let end = min(index, bytes.count)
    index = end + 1
    return start..<end
  }

  /// Returns the text without quotes and escapes, or the token itself.
  func unquoted(_ range: Range<Int>) -> String {
    guard range.first.map({ bytes[$0] }) == UInt8(ascii: "\"") else { return text(range) }
    let quoted = range.dropFirst()
    guard bytes[quoted].contains(UInt8(ascii: "\\")) else { return text(quoted) }
    var (text, isEscape) = ([UInt8](), false)
    text.reserveCapacity(quoted.count)
    for byte in bytes[quoted] {
      isEscape = byte == UInt8(ascii: "\\") && !isEscape
      if !isEscape { text.append(byte) }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Scans the token after a scheme. Returns `nil`, without advancing, if a parameter or another scheme follows.
  mutating func token68() -> Range<Int>? {
    let start = index
    skipBlanks()
    let first = index
    while let byte = next, FieldName.isTokenByte(byte) || byte == UInt8(ascii: "/") { index += 1 }
    let end = index
    while next == UInt8(ascii: "=") { index += 1 }
    let last = index
    let padded = index > end
    skipBlanks()
    // `name = value` is a parameter. A name that is followed by a blank and more text is another scheme.
    guard end > first, next == nil || next == UInt8(ascii: ","), padded || first > start else {
      index = start
      return nil
    }
    return first..<last
  }
}
