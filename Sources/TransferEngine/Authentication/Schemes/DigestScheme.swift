internal import Curl
internal import TransferModel

/// The Digest scheme (RFC 7616). `DigestAuthentication` computes the response.
struct DigestScheme: AuthenticationScheme {
  let method = AuthenticationMethod.httpDigest
  let name = "digest"

  func supports(_ challenge: HTTPChallenge) -> Bool { DigestAuthentication(challenge) != nil }

  func authorize(_ request: AuthorizedRequest, with easy: EasyHandle) -> String? {
    guard let login = request.login else { return nil }
    return request.attempt.digest?.value.authorization(
      user: login.user, password: login.password, method: request.method, target: request.target,
      bodyDigest: request.bodyDigest(),
      clientNonce: Hexadecimal.text((0..<16).map { _ in UInt8.random(in: .min ... .max) }))
  }
}
