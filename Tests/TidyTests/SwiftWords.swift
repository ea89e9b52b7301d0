/// The words of Swift code: names and keywords outside comments and string literals. Code in an interpolation
/// counts.
///
/// A regular expression literal is read as code. A quotation mark in it hides the rest of its line.
struct SwiftWords {
  struct Word: Equatable {
    let text: String
    /// The number of enclosing brackets, braces and parentheses.
    let depth: Int
    /// The last byte before the word that is not white space, or `nil` at the beginning of the text.
    let previous: UInt8?
  }

  private(set) var words: [Word] = []
  private let bytes: [UInt8]
  private var place = 0
  private var depth = 0
  private var previous: UInt8?

  init(_ text: String) {
    bytes = Array(text.utf8)
    while place < bytes.count { scan() }
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  private func isNext(_ text: StaticString, at offset: Int = 0) -> Bool {
    let start = place + offset
    guard start + text.utf8CodeUnitCount <= bytes.count else { return false }
    return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[start + $0] == text.utf8Start[$0] }
  }

  /// Scans one word, comment, literal or other byte.
  private mutating func scan() {
    let byte = bytes[place]
    if Self.isOfWord(byte) { return scanWord() }
    if isNext("//") { return skipLine() }
    if isNext("/*") { return skipComment() }
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#") {
      let hashes = bytes[place...].prefix { $0 == UInt8(ascii: "#") }.count
      if isNext("\"", at: hashes) {
        previous = UInt8(ascii: "\"")
        return scanLiteral(hashes)
      }
    }
    switch byte {
    case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
    case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
    default: break
    }
    if byte > UInt8(ascii: " ") { previous = byte }
    place += 1
  }

  private mutating func scanWord() {
    let start = place
    while place < bytes.count, Self.isOfWord(bytes[place]) { place += 1 }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    words.append(Word(text: text, depth: depth, previous: previous))
    previous = bytes[place - 1]
  }

  private mutating func skipLine() {
    while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
  }

  /// Comments nest.
  private mutating func skipComment() {
    var level = 0
    repeat {
      if isNext("/*") {
        level += 1
        place += 2
      } else if isNext("*/") {
        level -= 1
        place += 2
      } else {
        place += 1
      }
    } while level > 0 && place < bytes.count
  }

  private mutating func scanLiteral(_ hashes: Int) {
    place += hashes
    let isMultiline = isNext("\"\"\"")
    let quotes = isMultiline ? 3 : 1
    place += quotes
    while place < bytes.count {
      if isNext("\""), quotes == 1 || isNext("\"\"\""), hasHashes(hashes, at: quotes) {
        place += quotes + hashes
        return
      }
      if bytes[place] == UInt8(ascii: "\n"), !isMultiline { return }
      if isNext("\\"), hasHashes(hashes, at: 1) {
        place += 1 + hashes
        if isNext("(") { scanInterpolation() } else { place += 1 }
      } else {
        place += 1
      }
    }
  }

  private func hasHashes(_ count: Int, at offset: Int) -> Bool {
    (0..<count).allSatisfy { isNext("#", at: offset + $0) }
  }

  private mutating func scanInterpolation() {
    let outside = depth
    repeat { scan() } while depth > outside && place < bytes.count
  }
}

extension SwiftWords {
  private static let kinds: Set<String> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
  private static let modifiers: Set<String> = [
    "public", "package", "internal", "private", "fileprivate", "final", "indirect", "nonisolated",
  ]

  /// Returns the names of the types that the text declares.
  /// - Parameter isVisible: Whether to return only top-level types that other files see.
  func types(isVisible: Bool) -> Set<String> {
    var types: Set<String> = []
    for index in words.indices.dropLast() where Self.kinds.contains(words[index].text) {
      // `.class` is a member, `class func` and `class var` are no types, and `import struct` declares none.
      let next = words[index + 1]
      guard words[index].previous != UInt8(ascii: "."), next.depth == words[index].depth,
        !["func", "var"].contains(next.text)
      else { continue }
      var before = words[..<index]
      var isHidden = false
      while let last = before.last, Self.modifiers.contains(last.text) {
        isHidden = isHidden || last.text == "private" || last.text == "fileprivate"
        before.removeLast()
      }
      guard before.last?.text != "import" else { continue }
      if !isVisible || words[index].depth == 0 && !isHidden { types.insert(next.text) }
    }
    return types
  }
}
