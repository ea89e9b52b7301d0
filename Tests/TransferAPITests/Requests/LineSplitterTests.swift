import TestSupport
import Testing

@testable import TransferAPI

@Suite struct LineSplitterTests {
  private func split(_ chunks: [[UInt8]], maximumLine: Int) throws -> [LineSplitter.Line] {
    var splitter = LineSplitter(maximumLine: maximumLine)
    var lines: [LineSplitter.Line] = []
    for chunk in chunks {
      splitter.add(chunk)
      while let line = try splitter.next() { lines.append(line) }
    }
    return lines + [splitter.finish()].compactMap { $0 }
  }
  private func bytes(_ chunks: [[UInt8]], maximumLine: Int) throws -> [[UInt8]] {
    try split(chunks, maximumLine: maximumLine).map { Array($0.buffer[$0.range]) }
  }

  @Test(arguments: [
    ("", []), ("\n", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\n\n b\n", ["a", " b"]),
    ("\n\na\n \t\r\n\r\nb\r\n", ["a", "b\r"]), (" \t", []), ("é\n😀", ["é", "😀"]),
  ])
  func `text is split into lines`(_ text: String, _ expected: [String]) throws {
    let lines = try bytes([Array(text.utf8)], maximumLine: 100)
    #expect(lines == expected.map { Array($0.utf8) })
  }

  @Test func `line numbers count blank lines`() throws {
    let lines = try split([Array("a\n\n\r\nb\nc".utf8)], maximumLine: 10)
    #expect(lines.map(\.number) == [1, 4, 5])
  }

  @Test func `chunk boundaries do not change the lines`() throws {
    var generator = SplitMix64(seed: 31)
    for round in 0..<300 {
      let text = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
        Array("ab \t\r\n\n".utf8).randomElement(using: &generator) ?? 0
      }
      var chunks: [[UInt8]] = []
      var rest = text[...]
      while !rest.isEmpty {
        let count = Int.random(in: 0...20, using: &generator)
        chunks.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      let expected = text.split(separator: 0x0A).map(Array.init).filter { line in
        !line.allSatisfy { Array(" \t\r".utf8).contains($0) }
      }
      try #require(try bytes([text], maximumLine: 1000) == expected, "round \(round)")
      try #require(try bytes(chunks, maximumLine: 1000) == expected, "round \(round)")
      try #require(try bytes(text.map { [$0] }, maximumLine: 1000) == expected, "round \(round)")
    }
  }

  @Test(arguments: [1, 3, 5, 1000])
  func `line above the limit is refused`(_ chunk: Int) throws {
    func chunks(_ text: String) -> [[UInt8]] {
      let bytes = Array(text.utf8)
      return stride(from: 0, to: bytes.count, by: chunk).map {
        Array(bytes[$0..<min(bytes.count, $0 + chunk)])
      }
    }
    for text in ["1234567890\nx", "x\n1234567890\n", "x\n1234567890"] {
      #expect(throws: Never.self) { try split(chunks(text), maximumLine: 10) }
    }
    for text in ["12345678901\nx", "x\n12345678901\n", "x\n12345678901"] {
      let problem = #expect(throws: Problem.self) { try split(chunks(text), maximumLine: 10) }
      #expect(problem?.kind == .payloadTooLarge)
    }
  }
}
