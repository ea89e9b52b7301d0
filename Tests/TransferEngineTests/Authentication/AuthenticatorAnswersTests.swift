import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct AuthenticatorAnswersTests {
  private static func head(_ status: Int, _ fields: [(String, String)] = []) -> ResponseHead {
    ResponseHead(
      httpVersion: "HTTP/1.1", status: status,
      headers: HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) }))
  }

  /// A 407 belongs to the proxy only if the proxy itself responds.
  @Test(
    arguments: [
      (401, nil, "http", .server), (401, .http, "https", .server), (407, .http, "http", .proxy),
      (407, .http, "https", nil), (407, nil, "http", nil), (407, .socks5, "http", nil),
      (403, nil, "http", nil),
    ] as [(Int, ProxyServer.Kind?, String, Authenticator.Side?)])
  func side(_ status: Int, _ proxy: ProxyServer.Kind?, _ scheme: String, _ expected: Authenticator.Side?) {
    #expect(Authenticator.side(asking: Self.head(status), proxy, scheme: scheme) == expected)
  }

  /// MS-NLMP §1.3.1: libcurl answers only the second message, and only if the request uses NTLM.
  @Test func `second message of NTLM is left to libcurl`() {
    var authenticator = Authenticator()
    let second = Self.head(401, [("WWW-Authenticate", "NTLM TlRMTVNTUAACAAAA")])
    #expect(
      !authenticator.isAnsweredByLibcurl(second, of: .server)
        && !authenticator.isAnsweredByLibcurl(second, of: nil))
    var space = ProtectionSpace(host: "a.test", port: 80, protocolName: "http")
    space.authenticationMethod = .ntlm
    authenticator.adopt(.init(space: space, credential: .init(user: "u", password: "p")), on: .server)
    #expect(
      authenticator.isAnsweredByLibcurl(second, of: .server)
        && !authenticator.isAnsweredByLibcurl(second, of: .proxy))
    #expect(!authenticator.isAnsweredByLibcurl(Self.head(401, [("WWW-Authenticate", "NTLM")]), of: .server))
  }

  /// A Negotiate token is for one request.
  @Test func `each request needs a new Negotiate token`() {
    var authenticator = Authenticator()
    var space = ProtectionSpace(host: "a.test", port: 80, protocolName: "http")
    space.authenticationMethod = .negotiate
    #expect(authenticator.sideThatNeedsToken == nil)
    authenticator.adopt(.init(space: space, credential: nil), on: .server)
    #expect(authenticator.sideThatNeedsToken == .server && !authenticator.needsToken(.proxy))
    authenticator.setToken([1], on: .server)
    #expect(authenticator.sideThatNeedsToken == nil)
    _ = authenticator.confirm(.server)
    #expect(authenticator.needsToken(.server))
  }
}
