internal import HTTPFields
internal import TransferModel

/// Who asks with an answer, and what for.
extension Authenticator {
  /// Who asks; nil where nobody does.
  /// - Parameter proxy: the kind of the request's proxy.
  static func side(asking head: ResponseHead, _ proxy: ProxyServer.Kind?, scheme: String) -> Side? {
    switch head.status {
    case 401: .server
    // From an origin it is an answer like any other.
    case 407 where proxy == .http && scheme == "http": .proxy
    default: nil
    }
  }

  static func challenges(of side: Side, in head: ResponseHead) -> [HTTPChallenge] {
    HTTPChallenge.parse(head.headers.all(side == .server ? "WWW-Authenticate" : "Proxy-Authenticate"))
  }

  /// An answer that libcurl answers by itself, such as NTLM's second message (MS-NLMP §1.3.1).
  func isLeg(_ head: ResponseHead, of side: Side?) -> Bool {
    guard let side, let scheme = attempt(side)?.scheme, scheme.isConnectionBased else { return false }
    return Self.challenges(of: side, in: head).contains { $0.scheme == scheme.name && $0.token68 != nil }
  }

  /// What an answer says of the nonces that were shown (RFC 7616 §3.5).
  func takeUpInfo(_ head: ResponseHead) {
    for (side, field) in [(Side.server, "Authentication-Info"), (.proxy, "Proxy-Authentication-Info")] {
      guard let info = head.headers[field] else { continue }
      attempt(side)?.digest?.value.takeUp(info: info)
    }
  }

  /// The attempt's token is still to be made.
  func needsToken(_ side: Side) -> Bool {
    guard let attempt = attempt(side), attempt.token == nil else { return false }
    return attempt.scheme?.makeToken != nil
  }

  /// Who is to be shown a token that is still to be made.
  var sideThatNeedsToken: Side? { needsToken(.server) ? .server : needsToken(.proxy) ? .proxy : nil }
}
