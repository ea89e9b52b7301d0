/// Splits a stream of bytes into lines. Blank lines count in line numbers but are not returned.
package struct LineSplitter {
  /// A line, as a range of the buffer that contains it.
  package struct Line {
    package let buffer: [UInt8]
    package let range: Range<Int>
    /// The line's number, counted from 1.
    let number: Int
  }
  private let maximumLine: Int
  private var buffer: [UInt8] = []
  /// The start of the next line in `buffer`, and the offset at which the search for its end continues.
  private var (start, searched) = (0, 0)
  private var number = 0

  package init(maximumLine: Int) { self.maximumLine = maximumLine }

  package mutating func add(_ chunk: [UInt8]) {
    // A copy, so that the memory of a long line is released.
    if start > 0 { buffer = Array(buffer[start...]) }
    (start, searched) = (0, searched - start)
    buffer += chunk
  }

  /// Returns the next complete line, or `nil` if more bytes are needed.
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

  /// Returns the line after the last line end, or `nil` if it is blank.
  package mutating func finish() -> Line? {
    defer { (start, searched) = (buffer.count, buffer.count) }
    return line(start..<buffer.count)
  }

  private func check(_ length: Int) throws(Problem) {
    guard length <= maximumLine else {
      throw Problem(
        .payloadTooLarge, "line \(number + 1) has more than \(maximumLine) bytes, the limit; shorten it")
    }
  }

  /// - Returns: `nil` if the line is blank.
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
