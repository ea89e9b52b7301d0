import HTTPServer
import HTTPTypes
import Testing
import TransferModel

@testable import TransferAPI

@Suite struct BearerTokenTests {
  @Test(
    arguments: [
      ("one", "default", "one"), ("  one\t", "default", "one"), ("a one", "a", "one"),
      ("a\t one ", "a", "one"), ("default one", "default", "one"), ("a b c", nil, nil), ("", nil, nil),
      (" ", nil, nil),
    ] as [(String, String?, String?)])
  func `token line names an optional tenant and a token`(_ line: String, _ tenant: String?, _ text: String?) {
    let token = BearerToken(line: line)
    #expect(token?.tenant.name == tenant && token?.text == text)
  }

  @Test(
    arguments: [("one", "default"), ("two", "a"), ("three", "a"), ("four", "b")] as [(String, String)])
  func `bearer token identifies its tenant`(_ text: String, _ tenant: String) throws {
    let gatekeeper = RequestAuthenticator(
      tokens: ["one", "a two", "a three", "b four"].compactMap { BearerToken(line: $0) })
    var head = HTTPRequest(method: .get, scheme: "http", authority: "x", path: "/")
    head.headerFields[.authorization] = "Bearer " + text
    let request = ServerRequest(head: head, path: "/", query: "", body: RequestBody([]), localPort: 7000)
    #expect(try gatekeeper.check(request, isPublic: false)?.name == tenant)
    #expect(try gatekeeper.check(request, isPublic: true) == nil)
  }

  @Test func `without tokens every request belongs to the default tenant`() throws {
    let head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
    let request = ServerRequest(head: head, path: "/", query: "", body: RequestBody([]), localPort: 7000)
    #expect(try RequestAuthenticator(tokens: []).check(request, isPublic: false) == .default)
  }
}
