import Crypto
import HTTPFields
import JSON
import KeyDerivation
import Ledger
import Records
import Testing
import TransferModel

@testable import TransferService

@Suite struct ResumeDataSealerTests {
  private let sealer = ResumeDataSealer(secrets: [SymmetricKey(data: [UInt8](repeating: 1, count: 32))])
  private let tenant = Tenant(name: "t")
  private let request = TransferRequest(
    url: "https://a.test/x?y=1", headers: HTTPHeaders([.init(name: "Authorization", value: "Bearer secret")]),
    timeoutInterval: 2.5)
  private let point = ResumePoint(
    partial: PartialBody(offset: 5, total: 10, validator: "\"é\""), source: TaskID(high: 1, low: 2))

  @Test func whatWasSealedIsOpened() throws {
    let text = try #require(sealer.seal(request, point, of: tenant))
    let opened = try #require(sealer.open(text, of: tenant))
    #expect(opened.request == request && opened.point == point)
    #expect(
      text.utf8.allSatisfy {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains($0)
      })
  }

  @Test func noByteCanBeChanged() throws {
    let text = try #require(sealer.seal(request, point, of: tenant))
    let bytes = try #require(Base64.decodeForURL(text))
    #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
    for index in bytes.indices {
      var forged = bytes
      forged[index] ^= 1
      #expect(sealer.open(Base64.encodeForURL(forged), of: tenant) == nil)
    }
    for count in 0..<bytes.count {
      #expect(sealer.open(Base64.encodeForURL(bytes[..<count]), of: tenant) == nil)
    }
  }

  @Test func anotherServicesDataIsRefused() throws {
    let other = ResumeDataSealer(secrets: [SymmetricKey(data: [UInt8](repeating: 2, count: 32))])
    let text = try #require(other.seal(request, point, of: tenant))
    #expect(sealer.open(text, of: tenant) == nil)
  }

  @Test func anotherTenantsDataIsRefused() throws {
    let text = try #require(sealer.seal(request, point, of: tenant))
    #expect(sealer.open(text, of: .default) == nil && sealer.open(text, of: Tenant(name: "T")) == nil)
    let common = try #require(sealer.seal(request, point, of: .default))
    #expect(sealer.open(common, of: tenant) == nil && sealer.open(common, of: .default) != nil)
  }

  @Test func dataOfNoTenantIsRefused() throws {
    let document = Document.write(ResumeData(request: request, point: point, tenant: tenant))
    let nobodys = String(decoding: document, as: UTF8.self).replacing(
      #","tenant":"\#(tenant.name)""#, with: "")
    #expect(nobodys.utf8.count < document.count)
    let key = SymmetricKey(data: [UInt8](repeating: 1, count: 32)).derived(for: "ferry resume data 1")
    for (bytes, isOpened) in [(document, true), (Array(nobodys.utf8), false)] {
      let sealed = try #require(try AES.GCM.seal(bytes, using: key).combined)
      let text = Base64.encodeForURL(Array(sealed))
      #expect((sealer.open(text, of: tenant) != nil) == isOpened)
      #expect(sealer.open(text, of: .default) == nil)
    }
  }

  @Test(arguments: ["", "x", "é", "AAAA", "====", "a b"])
  func garbageIsRefused(_ text: String) { #expect(sealer.open(text, of: tenant) == nil) }
}
