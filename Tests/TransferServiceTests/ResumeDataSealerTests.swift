import Crypto
import HTTPFields
import Records
import Testing
import TransferModel

@testable import TransferService

@Suite struct ResumeDataSealerTests {
  private static func box(_ keys: UInt8...) -> SecretBox {
    SecretBox(secrets: keys.map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
  }
  private let box = box(1)
  private let sealer = ResumeDataSealer(box: box(1))
  private let tenant = Tenant(name: "t")
  private let request = TransferRequest(
    url: "https://a.test/x?y=1", headers: HTTPHeaders([.init(name: "Authorization", value: "Bearer secret")]),
    timeoutInterval: 2.5)
  private let point = ResumePoint(
    partial: PartialBody(offset: 5, total: 10, validator: "\"é\""), source: TaskID(high: 1, low: 2))
  private var document: [UInt8] {
    Document.write(ResumeData(request: request, point: point, tenant: tenant))
  }

  @Test func `sealed resume data is opened as base64url`() throws {
    let text = sealer.seal(request, point, of: tenant)
    let opened = try #require(sealer.open(text, of: tenant))
    #expect(opened.request == request && opened.point == point)
    #expect(
      text.utf8.allSatisfy {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains($0)
      })
  }

  @Test func `the text is shorter than the document`() {
    #expect(sealer.seal(request, point, of: tenant).utf8.count < document.count)
  }

  @Test(arguments: [4_000, 4_096, 5_000, 300_000])
  func `a request of any size is sealed and opened`(_ size: Int) throws {
    var request = request
    request.headers.append("X", String(repeating: "a", count: size))
    let text = sealer.seal(request, point, of: tenant)
    #expect(try #require(sealer.open(text, of: tenant)).request == request)
    // A short text must not open to more than the limit.
    #expect(text.utf8.count > size || size < DocumentKind.resumeData.compressionLimit)
  }

  @Test func `any changed or missing byte is refused`() throws {
    let text = sealer.seal(request, point, of: tenant)
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

  @Test func `text that is too long is refused`() {
    let text = sealer.seal(request, point, of: tenant)
    for long in [text + "AAAA", text + text, String(repeating: "A", count: 8 << 20)] {
      #expect(sealer.open(long, of: tenant) == nil)
    }
  }

  @Test func `a document that decompresses beyond the limit is refused`() throws {
    var request = request
    request.headers.append("X", String(repeating: "a", count: 100_000))
    let document = Document.write(ResumeData(request: request, point: point, tenant: tenant))
    let unlimited = DocumentKind(
      DocumentKind.resumeData.name, compressionLimit: DocumentKind.maximumSize)
    let sealed = box.seal(document, as: unlimited)
    #expect(sealed.count < 1000)
    #expect(try box.open(sealed, as: unlimited) == document)
    #expect(sealer.open(Base64.encodeForURL(sealed), of: tenant) == nil)
  }

  @Test(arguments: [0, DocumentKind.maximumSize])
  func `a sealed document of the ledger is no resume data`(_ compressionLimit: Int) {
    let kind = DocumentKind("task.specification", compressionLimit: compressionLimit)
    #expect(sealer.open(Base64.encodeForURL(box.seal(document, as: kind)), of: tenant) == nil)
    #expect(sealer.open(Base64.encodeForURL(box.seal(document, as: .resumeData)), of: tenant) != nil)
  }

  @Test func `a sealed secret is no resume data`() {
    let sealed = box.seal(String(decoding: document, as: UTF8.self))
    #expect(sealer.open(sealed, of: tenant) == nil)
    #expect(sealer.open(String(sealed.dropFirst(SecretBox.prefix.count)), of: tenant) == nil)
  }

  @Test func `data of another service is refused`() {
    let other = ResumeDataSealer(box: Self.box(2))
    #expect(sealer.open(other.seal(request, point, of: tenant), of: tenant) == nil)
  }

  @Test func `resume data of an old key is opened while that key is configured`() {
    let text = sealer.seal(request, point, of: tenant)
    let rotated = ResumeDataSealer(box: Self.box(2, 1))
    #expect(rotated.open(text, of: tenant)?.request == request)
    #expect(ResumeDataSealer(box: Self.box(2)).open(text, of: tenant) == nil)
    // New data are sealed with the new key.
    let new = rotated.seal(request, point, of: tenant)
    #expect(sealer.open(new, of: tenant) == nil)
    #expect(ResumeDataSealer(box: Self.box(2)).open(new, of: tenant)?.point == point)
  }

  @Test func `data of another tenant is refused`() {
    let text = sealer.seal(request, point, of: tenant)
    #expect(sealer.open(text, of: .default) == nil && sealer.open(text, of: Tenant(name: "T")) == nil)
    let common = sealer.seal(request, point, of: .default)
    #expect(sealer.open(common, of: tenant) == nil && sealer.open(common, of: .default) != nil)
  }

  @Test func `data without a tenant is refused`() {
    let nobodys = String(decoding: document, as: UTF8.self).replacing(
      #","tenant":"\#(tenant.name)""#, with: "")
    #expect(nobodys.utf8.count < document.count)
    for (bytes, isOpened) in [(document, true), (Array(nobodys.utf8), false)] {
      let text = Base64.encodeForURL(box.seal(bytes, as: .resumeData))
      #expect((sealer.open(text, of: tenant) != nil) == isOpened)
      #expect(sealer.open(text, of: .default) == nil)
    }
  }

  @Test(arguments: ["", "x", "é", "AAAA", "====", "a b"])
  func `garbage is refused`(_ text: String) { #expect(sealer.open(text, of: tenant) == nil) }
}
