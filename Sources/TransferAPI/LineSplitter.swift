/// Splits a stream of bytes into lines. Blank lines count in line numbers but are not returned.
package struct LineSplitter {
  /// One line, as a range of the bytes that came with it.
  package struct Line {
    package let buffer: [UInt8]
    package let range: Range<Int>
    /// From 1, as an editor counts.
    let number: Int

    var bytes: ArraySlice<UInt8> { buffer[range] }
  }
  private let maximumLine: Int
  private var rest: [UInt8] = []
  /// Bytes at the start of `rest` that were searched and contain no line end.
  private var scanned = 0
  private var number = 0

  package init(maximumLine: Int) { self.maximumLine = maximumLine }

  /// The lines that `chunk` completes.
  package mutating func add(_ chunk: [UInt8]) throws(Problem) -> [Line] {
    rest += chunk
    var lines: [Line] = []
    if let last = rest[scanned...].lastIndex(of: 0x0A) {
      let buffer = rest
      rest = Array(buffer[(last + 1)...])
      var start = 0
      for place in scanned...last where buffer[place] == 0x0A {
        try check(place - start)
        append(start..<place, of: buffer, to: &lines)
        start = place + 1
      }
    }
    scanned = rest.count
    try check(rest.count)
    return lines
  }

  /// The line after the last line end, if it is not blank.
  package mutating func finish() -> [Line] {
    var lines: [Line] = []
    append(rest.indices, of: rest, to: &lines)
    rest = []
    return lines
  }

  private func check(_ length: Int) throws(Problem) {
    guard length <= maximumLine else {
      throw Problem(.payloadTooLarge, "line \(number + 1) has more than \(maximumLine) bytes")
    }
  }

  private mutating func append(_ range: Range<Int>, of buffer: [UInt8], to lines: inout [Line]) {
    number += 1
    for place in range {
      switch buffer[place] {
      case 0x20, 0x09, 0x0D: continue
      default: return lines.append(Line(buffer: buffer, range: range, number: number))
      }
    }
  }
}
