import HTTPServer
import HTTPTypes
import Testing
import TransferModel

@testable import TransferAPI

@Suite struct RequestAuthenticatorTests {
  @Test(arguments: [
    ("localhost", true), ("LocalHost", true), ("localhost:7000", true), ("127.0.0.1", true),
    ("127.0.0.1:7000", true),
    ("[::1]", true), ("[::1]:7000", true), ("", false), ("localhost:", false), ("localhost:7001", false),
    ("localhost:70000", false), ("127.0.0.2", false), ("127.0.0.1.evil.test", false),
    ("localhost.evil.test", false),
    ("evil.test", false), ("::1", false), ("[::1", false), ("localhost:7000:7000", false),
    (" localhost", false),
    ("x@localhost:7000", false), ("0.0.0.0:7000", false),
  ])
  func `only local host names with the right port are accepted`(_ host: String, _ expected: Bool) {
    #expect(RequestAuthenticator.isLocal(host, port: 7000) == expected)
  }

  private func request(host: String, origin: String? = nil, authorization: String? = nil) -> ServerRequest {
    var head = HTTPRequest(method: .get, scheme: "http", authority: host, path: "/")
    if let origin { head.headerFields[.origin] = origin }
    if let authorization { head.headerFields[.authorization] = authorization }
    return ServerRequest(head: head, path: "/", query: "", body: RequestBody([]), localPort: 7000)
  }

  private func verdict(_ tokens: [String], _ request: ServerRequest, isPublic: Bool = false) -> ProblemKind? {
    do throws(Problem) {
      _ = try RequestAuthenticator(tokens: tokens.map { BearerToken(text: $0) }).check(
        request, isPublic: isPublic)
      return nil
    } catch {
      return error.kind
    }
  }

  @Test(
    arguments: [
      ("localhost:7000", nil, nil), ("localhost:7000", "http://localhost:7000", nil),
      ("localhost:7000", "HTTP://LOCALHOST:7000", nil),
      ("localhost:7000", "http://evil.test", .originNotAllowed),
      ("localhost:7000", "https://localhost:7000", .originNotAllowed),
      ("localhost:7000", "null", .originNotAllowed),
      ("localhost:7000", "http://localhost:7001", .originNotAllowed), ("evil.test", nil, .hostNotAllowed),
      ("evil.test", "http://evil.test", .hostNotAllowed),
      ("localhost:7000", "http://127.0.0.1:7000", .originNotAllowed),
    ] as [(String, String?, ProblemKind?)])
  func `without tokens only local callers pass`(_ host: String, _ origin: String?, _ expected: ProblemKind?) {
    for isPublic in [false, true] {
      #expect(verdict([], request(host: host, origin: origin), isPublic: isPublic) == expected)
    }
  }

  @Test(
    arguments: [
      ("Bearer one", true), ("bearer two", true), ("BEARER one", true), ("Bearer three", false),
      ("Bearer", false),
      ("Bearer ", false), ("one", false), ("Basic one", false), ("Bearer one two", false),
      ("Bearer ONE", false),
      ("", false), (nil, false),
    ] as [(String?, Bool)])
  func `only a configured bearer token opens private routes`(_ field: String?, _ isOpen: Bool) {
    let request = request(host: "anything.test", authorization: field)
    #expect(verdict(["one", "two"], request) == (isOpen ? nil : .unauthorized))
    #expect(verdict(["one", "two"], request, isPublic: true) == nil)
  }
}
