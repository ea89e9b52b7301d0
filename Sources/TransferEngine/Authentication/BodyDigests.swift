internal import Curl
internal import TransferModel

/// The digests of a request's body that say who sends it (`auth-int`, RFC 7616 §3.4.3). A stored file's are made before the request goes
/// out.
struct BodyDigests {
  private var ofFile: [DigestAuthentication.Algorithm: String] = [:]

  mutating func note(_ digest: String?, by algorithm: DigestAuthentication.Algorithm) {
    ofFile[algorithm] = digest
  }

  /// Nil where the attempt covers no body.
  func digest(of body: RequestContent?, for attempt: Authenticator.Attempt) -> String? {
    guard attempt.coversBody, let algorithm = attempt.digest?.value.algorithm else { return nil }
    return body?.file == nil ? algorithm.hash(body?.data ?? []) : ofFile[algorithm]
  }

  /// By which algorithm a stored file is yet to be digested; nil where nothing is missing.
  func missing(
    of body: RequestContent?, for authenticator: Authenticator, at url: CurlURL
  ) -> DigestAuthentication.Algorithm? {
    guard body?.file != nil else { return nil }
    let attempts = [Authenticator.Side.server, .proxy].filter { !$0.wantsTunnel(to: url) }
      .compactMap(authenticator.attempt)
    return attempts.filter(\.coversBody).compactMap(\.digest?.value.algorithm).first { ofFile[$0] == nil }
  }
}

extension Authenticator.Side {
  /// A CONNECT of its own tells the side who asks, before the request goes out.
  func wantsTunnel(to url: CurlURL) -> Bool { self == .proxy && url.scheme == "https" }
}
