internal import Curl
internal import GSSAPI
internal import TransferModel

/// The Negotiate scheme with Kerberos (RFC 4559). Without a credential, the process's own ticket is used.
struct NegotiateScheme: AuthenticationScheme {
  let method = AuthenticationMethod.negotiate
  let name = "negotiate"

  func authorize(_ request: AuthorizedRequest, with easy: EasyHandle) -> String? {
    request.attempt.token.map { "Negotiate \(Base64.encode($0))" }
  }

  var makeToken: (@Sendable (_ host: String, _ login: PasswordLogin?) throws -> [UInt8])? {
    { host, login in try NegotiateToken.make(host: host, user: login?.user, password: login?.password) }
  }
}
