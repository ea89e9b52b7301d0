import Foundation
import TestSupport
import Testing

@Suite(.blocking) struct NginxServerTests {
  private let nginx: NginxServer
  init() throws { nginx = try NginxServer() }

  private func get(_ face: NginxServer.Site, _ path: String, _ leaf: CertificateKit.Leaf? = nil) throws
    -> Curl
  {
    let url = nginx.url(face, path)
    guard let leaf else { return try Curl("--cacert", nginx.authorityFile, url) }
    return try Curl(
      "--cacert", nginx.authorityFile, "--cert", nginx.certificateFile(leaf), "--key", nginx.keyFile, url)
  }

  @Test func `Basic requires the password`() throws {
    let url = nginx.url(.plain, "/basic/hello.txt")
    let right = "\(NginxServer.user):\(NginxServer.password)"
    #expect(try Curl("-u", right, url).body == NginxServer.contents(5000))
    #expect(try Curl("-u", "alice:wrong", url).status == 401)
    #expect(try Curl("-i", url).text.contains("WWW-Authenticate: Basic realm=\"nginx realm\""))
    let log = nginx.log(atLeast: 3)
    #expect(log.first == "GET /basic/hello.txt 200 Basic \(Data(right.utf8).base64EncodedString())")
    #expect(log.last == "GET /basic/hello.txt 401 -")
  }

  @Test func `client is identified by its certificate`() throws {
    #expect(try get(.optionalCertificate, "/who").text == "NONE ")
    #expect(try get(.optionalCertificate, "/who", .client).text == "SUCCESS CN=client")
    #expect(try get(.asksForCertificate, "/who", .client).text == "SUCCESS CN=client")
    #expect(try get(.asksForCertificate, "/who").status == 400)
    #expect(try get(.asksForCertificate, "/who", .strangeClient).status == 400)
    #expect(try get(.optionalCertificate, "/who", .strangeClient).status == 400)
  }

  @Test func `chain contains an intermediate authority`() throws {
    #expect(try get(.intermediate, "/hello.txt").status == 200)
    let kit = try CertificateKit.shared()
    let pins = try kit.authorityKeyPins()
    #expect(try pins != [OpenSSL.keyPin(of: kit.intermediateAuthority)])
    // curl checks the pin.
    let (url, leaf) = (
      nginx.url(.intermediate, "/hello.txt"), try OpenSSL.keyPin(of: kit.leaves[.intermediate] ?? "")
    )
    #expect(try Curl("-k", "--pinnedpubkey", "sha256//" + leaf, url).status == 200)
    #expect(try Curl("-k", "--pinnedpubkey", "sha256//" + (pins.first ?? ""), url).status == 0)
  }
}
