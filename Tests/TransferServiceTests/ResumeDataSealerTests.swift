import Crypto
import Testing
import TransferModel

@testable import TransferService

@Suite struct ResumeDataSealerTests {
  private let sealer = ResumeDataSealer(secrets: [SymmetricKey(data: [UInt8](repeating: 1, count: 32))])
  private let request = TransferRequest(
    url: "https://a.test/x?y=1", headers: HTTPHeaders([.init(name: "Authorization", value: "Bearer secret")]),
    timeoutInterval: 2.5)
  private let point = ResumePoint(
    partial: PartialBody(offset: 5, total: 10, validator: "\"é\""), source: TaskID(high: 1, low: 2))

  @Test func whatWasSealedIsOpened() throws {
    let text = try #require(sealer.seal(request, point))
    let opened = try #require(sealer.open(text))
    #expect(opened.request == request && opened.point == point)
    #expect(
      text.utf8.allSatisfy {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains($0)
      })
  }

  @Test func noByteCanBeChanged() throws {
    let text = try #require(sealer.seal(request, point))
    let bytes = try #require(Base64.decodeForURL(text))
    #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
    for index in bytes.indices {
      var forged = bytes
      forged[index] ^= 1
      #expect(sealer.open(Base64.encodeForURL(forged)) == nil)
    }
    for count in 0..<bytes.count { #expect(sealer.open(Base64.encodeForURL(bytes[..<count])) == nil) }
  }

  @Test func anotherServicesDataIsRefused() throws {
    let other = ResumeDataSealer(secrets: [SymmetricKey(data: [UInt8](repeating: 2, count: 32))])
    let text = try #require(other.seal(request, point))
    #expect(sealer.open(text) == nil)
  }

  @Test(arguments: ["", "x", "é", "AAAA", "====", "a b"])
  func garbageIsRefused(_ text: String) { #expect(sealer.open(text) == nil) }
}
