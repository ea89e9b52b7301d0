internal import Curl
internal import TransferModel

/// The user and password of a SOCKS proxy (RFC 1929). libcurl sends them.
struct SOCKSScheme: AuthenticationScheme {
  let method = AuthenticationMethod.default
  let name = HTTPChallenge.socks.scheme

  func authorize(_ request: AuthorizedRequest, with easy: EasyHandle) throws(CurlError) -> String? {
    guard let login = request.login else { return nil }
    try easy.set(.proxyUserName, to: login.user)
    try easy.set(.proxyPassword, to: login.password)
    return nil
  }
}
