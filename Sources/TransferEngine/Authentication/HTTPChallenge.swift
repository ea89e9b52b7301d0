internal import TransferModel

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.3).
package struct HTTPChallenge: Sendable, Equatable {
  /// Lower case.
  var scheme: String
  /// What stands in place of parameters: NTLM's and Negotiate's messages.
  var token68: String?
  /// Names in lower case.
  var parameters: [String: String] = [:]

  var realm: String? { parameters["realm"] }

  /// Reads all challenges of a message, in order. Several may stand in one field, and several fields in one message.
  /// What cannot be read is skipped.
  package static func parse(_ fields: [String]) -> [HTTPChallenge] {
    var challenges: [HTTPChallenge] = []
    for field in fields {
      var scanner = Scanner(field)
      let first = challenges.count
      while scanner.skipSeparators() {
        guard let token = scanner.token() else {
          scanner.skipElement()
          continue
        }
        if let value = scanner.parameterValue() {
          // A parameter without a scheme before it says nothing. Of one name, the first counts.
          let (name, last) = (token.lowercased(), challenges.count - 1)
          if last >= first, challenges[last].parameters[name] == nil {
            challenges[last].parameters[name] = value
          }
        } else {
          challenges.append(HTTPChallenge(scheme: token.lowercased(), token68: scanner.token68()))
        }
      }
    }
    return challenges
  }
}

/// Reads the pieces of a field's value.
private struct Scanner {
  private let bytes: [UInt8]
  private var index = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipBlanks() {
    while next == 0x20 || next == 0x09 { index += 1 }
  }

  /// Past commas and blanks; false at the end.
  mutating func skipSeparators() -> Bool {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: ",") { index += 1 }
    return index < bytes.count
  }

  /// Past something that is no token.
  mutating func skipElement() {
    index += 1
    while let byte = next, byte != UInt8(ascii: ",") { index += 1 }
  }

  mutating func token() -> String? {
    let start = index
    while let byte = next, FieldName.isTokenByte(byte) { index += 1 }
    return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil
  }

  /// `= value` behind a parameter's name; nil, and nothing taken, where that does not follow.
  mutating func parameterValue() -> String? {
    let start = index
    skipBlanks()
    guard next == UInt8(ascii: "=") else {
      index = start
      return nil
    }
    index += 1
    skipBlanks()
    if next == UInt8(ascii: "\"") { return quotedString() }
    return token() ?? ""
  }

  private mutating func quotedString() -> String {
    index += 1
    var text: [UInt8] = []
    while let byte = next, byte != UInt8(ascii: "\"") {
      index += 1
      if byte == UInt8(ascii: "\\"), let escaped = next {
        text.append(escaped)
        index += 1
      } else {
        text.append(byte)
      }
    }
    index += 1
    return String(decoding: text, as: UTF8.self)
  }

  /// What follows a scheme where it is neither a parameter nor another scheme.
  mutating func token68() -> String? {
    let start = index
    skipBlanks()
    let first = index
    while let byte = next, FieldName.isTokenByte(byte) || byte == UInt8(ascii: "/") { index += 1 }
    let end = index
    while next == UInt8(ascii: "=") { index += 1 }
    let last = index
    let padded = index > end
    skipBlanks()
    // `name = value` is a parameter, and `name` before a blank and more another scheme's.
    guard end > first, next == nil || next == UInt8(ascii: ","), padded || first > start else {
      index = start
      return nil
    }
    return String(decoding: bytes[first..<last], as: UTF8.self)
  }
}
