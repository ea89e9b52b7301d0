/// A pattern of texts: `*` stands for any bytes, `?` for one byte, and each other byte for itself.
package struct Glob: Sendable, Equatable {
  private let pattern: [UInt8]

  package init(_ text: String) { pattern = Array(text.utf8) }

  package func matches(_ text: String) -> Bool {
    let text = Array(text.utf8)
    var (place, read) = (0, 0)
    // The last star, and the byte after those that it stands for.
    var star: (pattern: Int, text: Int)?
    while read < text.count {
      if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
        star = (place, read)
        place += 1
      } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == text[read] {
        (place, read) = (place + 1, read + 1)
      } else if let last = star {
        // Only the last star needs another try: an earlier one matched as little as possible.
        star = (last.pattern, last.text + 1)
        (place, read) = (last.pattern + 1, last.text + 1)
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
  }

  /// Returns whether `part` occurs in `text`.
  static func find(_ part: [UInt8], in text: [UInt8]) -> Bool {
    guard part.count <= text.count else { return false }
    return (0...text.count - part.count).contains { start in text[start...].starts(with: part) }
  }
}
