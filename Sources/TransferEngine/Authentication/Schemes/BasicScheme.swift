internal import Curl
internal import TransferModel

/// The Basic scheme (RFC 7617).
struct BasicScheme: AuthenticationScheme {
  let method = AuthenticationMethod.httpBasic
  let name = "basic"
  let coversDirectory = true

  func authorize(_ request: AuthorizedRequest, with easy: EasyHandle) -> String? {
    request.login.map { "Basic \(Base64.encode(Array("\($0.user):\($0.password)".utf8)))" }
  }
}
