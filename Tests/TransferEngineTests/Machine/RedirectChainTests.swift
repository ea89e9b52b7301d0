import Curl
import HTTPFields
import Limits
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RedirectChainTests {
  private static func head(_ location: String) -> ResponseHead {
    ResponseHead(
      httpVersion: "HTTP/1.1", status: 302,
      headers: HTTPHeaders([.init(name: "Location", value: location)]))
  }

  private enum Kind: Equatable { case follow(String), ask(String), fail(URLErrorCode) }

  private static func kind(_ nextStep: RedirectChain.NextStep) throws -> Kind {
    switch nextStep {
    case .follow(let request): return .follow(request.url)
    case .ask(let request): return .ask(request.url)
    case .fail(let error):
      guard case .url(let code) = error.reason else { throw error }
      return .fail(code)
    }
  }

  private static let insecure = URLErrorCode.appTransportSecurityRequiresSecureConnection

  @Test(
    arguments: [
      ("/b", false, .follow("https://a.test/b")), ("/b", true, .ask("https://a.test/b")),
      ("http://a.test/b", false, .fail(insecure)), ("http://a.test/b", true, .ask("http://a.test/b")),
      ("ftp://a.test/", false, .fail(.unsupportedURL)), ("ftp://a.test/", true, .fail(.unsupportedURL)),
    ] as [(String, Bool, Kind)])
  private func `redirect leads to its outcome`(_ location: String, _ asks: Bool, _ expected: Kind) throws {
    var chain = RedirectChain()
    let request = TransferRequest(url: "https://a.test/a")
    let nextStep = chain.nextStep(
      Self.head(location), from: request, at: try CurlURL(request.url), .init(), asks: asks)
    #expect(try Self.kind(nextStep) == expected)
  }

  /// The delegate has left the decision to the session.
  @Test func `session decides if the delegate does not`() throws {
    let (proposed, url) = (TransferRequest(url: "http://a.test/b"), try CurlURL("https://a.test/a"))
    #expect(try Self.kind(RedirectChain.defaultStep(proposed, after: url, .init())) == .fail(Self.insecure))
    var lenient = SessionConfiguration()
    lenient.allowsInsecureRedirects = true
    #expect(RedirectChain.defaultStep(proposed, after: url, lenient) == .follow(proposed))
  }

  /// Redirects that the delegate decides about count as well.
  @Test func `number of redirects is limited`() throws {
    var chain = RedirectChain()
    let request = TransferRequest(url: "http://a.test/a")
    let url = try CurlURL(request.url)
    for step in 1...Limits.redirects.value {
      let nextStep = chain.nextStep(
        Self.head("/\(step)"), from: request, at: url, .init(), asks: step % 2 == 0)
      #expect(try Self.kind(nextStep) != .fail(.httpTooManyRedirects))
    }
    let last = chain.nextStep(Self.head("/last"), from: request, at: url, .init(), asks: false)
    #expect(try Self.kind(last) == .fail(.httpTooManyRedirects))
  }
}
