import Testing

@testable import TransferEngine

@Suite struct ChunkFramingTests {
  @Test(
    arguments: [
      ("", false), ("0", false), ("0\r", false), ("0\r\n", true), ("0\n", true), ("000\r\n", true),
      ("0;a=b\r\n", true), ("0\r\nX-A: b\r\n", true), ("0\r\n\r\n", true), ("2\r\nok\r\n", false),
      ("2\r\nok\r\n0\r\n", true), ("5\r\n0\r\n0\r\n", false), ("5\r\n0\r\n\r\n", false),
      ("5\r\n0\r\n\r\n\r\n0\r\n", true), ("A;x=0\r\n0123456789\r\n0\r\n", true),
      ("a\r\n0123456789\r\n10\r\n0\r\n", false), ("FFFFFFFFFFFFFFFF\r\n0\r\n", false),
    ], [1, 2, 3, 100])
  func `last chunk is found in pieces of any size`(_ framing: (text: String, isThere: Bool), _ piece: Int) {
    var chunks = ChunkFraming()
    let bytes = Array(framing.text.utf8)
    for start in stride(from: 0, to: bytes.count, by: piece) {
      bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes { chunks.add($0) }
    }
    #expect(chunks.hasLastChunk == framing.isThere)
  }
}
