internal import Curl

/// The URL of a service, with the token that the service expects.
package struct ServiceAddress: Sendable, Equatable {
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// The URL without a slash at its end. It may have a path prefix.
  package let url: String
  package let token: String?
  let isTLS: Bool
  let tlsHost: String

  /// - Parameters:
  ///   - text: `http://host:port/prefix`; a text without a scheme begins with the host.
  ///   - token: the bearer token; `nil` if the service needs none.
  package init(_ text: String, token: String? = nil) throws(Fault) {
    let whole = text.contains("://") ? text : "http://" + text
    let parsed: CurlURL
    do throws(CurlURL.Fault) { parsed = try CurlURL(whole) } catch {
      throw Fault(description: "'\(text)' is no URL of a service; use http://HOST:PORT")
    }
    guard !parsed.hasUserInfo else {
      throw Fault(description: "the URL of a service must have no user or password; use a token")
    }
    guard !whole.contains("?"), !whole.contains("#") else {
      throw Fault(description: "'\(text)' must have neither a query nor a fragment")
    }
    if let token {
      guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw Fault(description: "the token must be visible ASCII characters without blanks")
      }
    }
    var url = parsed.text
    while url.hasSuffix("/") { url.removeLast() }
    self.url = url
    self.token = token
    isTLS = parsed.scheme == "https"
    tlsHost = parsed.tlsHost
  }
}
