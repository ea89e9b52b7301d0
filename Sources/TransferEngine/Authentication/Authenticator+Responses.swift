internal import HTTPFields
internal import TransferModel

/// The challenges of a response.
extension Authenticator {
  /// Returns the side that requests credentials; `nil` if neither does.
  /// - Parameter proxy: The kind of the request's proxy.
  static func side(asking head: ResponseHead, _ proxy: ProxyServer.Kind?, scheme: String) -> Side? {
    switch head.status {
    case 401: .server
    // A 407 of an origin is an ordinary response.
    case 407 where proxy == .http && scheme == "http": .proxy
    default: nil
    }
  }

  static func challenges(of side: Side, in head: ResponseHead) -> [HTTPChallenge] {
    HTTPChallenge.parse(head.headers.all(side == .server ? "WWW-Authenticate" : "Proxy-Authenticate"))
  }

  /// Returns whether libcurl answers the response by itself, such as NTLM's second message (MS-NLMP §1.3.1).
  func isAnsweredByLibcurl(_ head: ResponseHead, of side: Side?) -> Bool {
    guard let side, let scheme = attempt(side)?.scheme, scheme.isConnectionBased else { return false }
    return Self.challenges(of: side, in: head).contains { $0.scheme == scheme.name && $0.token68 != nil }
  }

  /// Uses the next nonce of a response (RFC 7616 §3.5).
  func readAuthenticationInfo(_ head: ResponseHead) {
    for (side, field) in [(Side.server, "Authentication-Info"), (.proxy, "Proxy-Authentication-Info")] {
      guard let info = head.headers[field] else { continue }
      attempt(side)?.digest?.value.takeUp(info: info)
    }
  }

  /// Returns whether the attempt's token must still be made.
  func needsToken(_ side: Side) -> Bool {
    guard let attempt = attempt(side), attempt.token == nil else { return false }
    return attempt.scheme?.makeToken != nil
  }

  /// The side whose token must still be made; `nil` if none must.
  var sideThatNeedsToken: Side? { needsToken(.server) ? .server : needsToken(.proxy) ? .proxy : nil }
}
