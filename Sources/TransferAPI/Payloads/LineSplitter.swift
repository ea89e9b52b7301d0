/// Splits a stream of bytes into lines. Blank lines count in line numbers but are not returned.
package struct LineSplitter {
  /// One line, as a range of the bytes that came with it.
  package struct Line {
    package let buffer: [UInt8]
    package let range: Range<Int>
    /// From 1, as an editor counts.
    let number: Int
  }
  private let maximumLine: Int
  private var buffer: [UInt8] = []
  /// Where the next line begins in `buffer`, and where the search for its end goes on.
  private var (start, searched) = (0, 0)
  private var number = 0

  package init(maximumLine: Int) { self.maximumLine = maximumLine }

  package mutating func add(_ chunk: [UInt8]) {
    // A copy, so that no memory of a long line is kept.
    if start > 0 { buffer = Array(buffer[start...]) }
    (start, searched) = (0, searched - start)
    buffer += chunk
  }

  /// The next line whose end has come; nil if more bytes are needed.
  package mutating func next() throws(Problem) -> Line? {
    while searched < buffer.count {
      searched += 1
      guard buffer[searched - 1] == 0x0A else { continue }
      let range = start..<searched - 1
      try check(range.count)
      start = searched
      if let line = line(range) { return line }
    }
    try check(searched - start)
    return nil
  }

  /// The line after the last line end, if it is not blank.
  package mutating func finish() -> Line? {
    defer { (start, searched) = (buffer.count, buffer.count) }
    return line(start..<buffer.count)
  }

  private func check(_ length: Int) throws(Problem) {
    guard length <= maximumLine else {
      throw Problem(.payloadTooLarge, "line \(number + 1) has more than \(maximumLine) bytes")
    }
  }

  /// nil: the line is blank.
  private mutating func line(_ range: Range<Int>) -> Line? {
    number += 1
    for place in range {
      switch buffer[place] {
      case 0x20, 0x09, 0x0D: continue
      default: return Line(buffer: buffer, range: range, number: number)
      }
    }
    return nil
  }
}
