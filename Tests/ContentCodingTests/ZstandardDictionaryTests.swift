import ContentCoding
import Testing

@Suite struct ZstandardDictionaryTests {
  private static let text =
    #"{"v":2,"description":null,"priority":0.5,"request":{"url":"https://www.example.com/"}}"#
  private let dictionary = ZstandardDictionary(Array(text.utf8))

  @Test func `message like the dictionary becomes small`() throws {
    let message = Array(Self.text.replacing("0.5", with: "0.75").utf8)
    let frame = try #require(dictionary.compress(message))
    #expect(frame.count < message.count / 2)
    #expect(try dictionary.decompress(frame, maximum: message.count) == message)
  }

  /// No bytes, one byte and noise cannot become shorter.
  @Test func `message that would grow is not compressed`() {
    var noise = SystemRandomNumberGenerator()
    #expect(dictionary.compress([]) == nil)
    #expect(dictionary.compress([1]) == nil)
    #expect(dictionary.compress((0..<500).map { _ in .random(in: 0...255, using: &noise) }) == nil)
  }

  @Test func `large message is restored`() throws {
    let message = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) }
    let frame = try #require(dictionary.compress(message))
    #expect(frame.count < message.count / 100)
    #expect(try dictionary.decompress(frame, maximum: message.count) == message)
  }

  @Test func `frame without this dictionary is refused`() throws {
    let message = Array(Self.text.utf8)
    let frame = try #require(dictionary.compress(message))
    func refuses(_ frame: [UInt8], maximum: Int = 1000) -> Bool {
      (try? dictionary.decompress(frame, maximum: maximum)) == nil
    }
    #expect(refuses([]) && refuses(message) && refuses(Array(frame.dropLast())))
    #expect(refuses(frame, maximum: message.count - 1))
    let other = ZstandardDictionary(Array(repeating: 7, count: 90))
    #expect((try? other.decompress(frame, maximum: 1000)) != message)
  }
}
