internal import Curl
internal import TransferModel

/// Body digests for Digest authentication with `auth-int` (RFC 7616 §3.4.3). A body in a file is digested before the request is sent.
struct BodyDigests {
  private var ofFile: [DigestAuthentication.Algorithm: String] = [:]

  mutating func note(_ digest: String?, by algorithm: DigestAuthentication.Algorithm) {
    ofFile[algorithm] = digest
  }

  /// Returns the body's digest; `nil` if the attempt does not cover the body.
  func digest(of body: RequestContent?, for attempt: Authenticator.Attempt) -> String? {
    guard attempt.coversBody, let algorithm = attempt.digest?.value.algorithm else { return nil }
    return body?.isInFile == true ? ofFile[algorithm] : algorithm.hash(body?.data ?? [])
  }

  /// Returns the algorithm by which the stored file must still be digested; `nil` if there is none.
  func missing(
    of body: RequestContent?, for authenticator: Authenticator, at url: CurlURL
  ) -> DigestAuthentication.Algorithm? {
    guard body?.isInFile == true else { return nil }
    let attempts = [Authenticator.Side.server, .proxy].filter { !$0.wantsTunnel(to: url) }
      .compactMap(authenticator.attempt)
    return attempts.filter(\.coversBody).compactMap(\.digest?.value.algorithm).first { ofFile[$0] == nil }
  }
}

extension Authenticator.Side {
  /// Whether this side authenticates a CONNECT request instead of the transfer's request, as a proxy does for an https URL.
  func wantsTunnel(to url: CurlURL) -> Bool { self == .proxy && url.scheme == "https" }
}
