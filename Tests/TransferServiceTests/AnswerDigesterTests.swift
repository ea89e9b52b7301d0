import Crypto
import Testing

@testable import TransferService

@Suite struct AnswerDigesterTests {
  private static func key(_ byte: UInt8) -> SymmetricKey {
    SymmetricKey(data: [UInt8](repeating: byte, count: 32))
  }
  private let old = AnswerDigester(secrets: [key(1)])
  private let new = AnswerDigester(secrets: [key(2), key(1)])

  @Test func `rotated tagger recognises tags of the old key`() throws {
    let kept = try #require(old.tags([1, 2, 3]).first)
    #expect(new.tags([1, 2, 3]).contains(kept) && new.tags([1, 2, 3]).first != kept)
    #expect(!new.tags([1, 2, 4]).contains(kept))
    #expect(!AnswerDigester(secrets: [Self.key(2)]).tags([1, 2, 3]).contains(kept))
  }
}
