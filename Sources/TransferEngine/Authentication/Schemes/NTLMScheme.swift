internal import Curl
internal import TransferModel

/// The NTLM scheme (MS-NLMP). libcurl computes the messages.
struct NTLMScheme: AuthenticationScheme {
  let method = AuthenticationMethod.ntlm
  let name = "ntlm"
  let isConnectionBased = true

  func authorize(_ request: AuthorizedRequest, with easy: EasyHandle) throws(CurlError) -> String? {
    guard let login = request.login else { return nil }
    try easy.setNTLM(user: login.user, password: login.password, isProxy: request.isProxy)
    try easy.set(.httpVersion, to: 2)  // CURL_HTTP_VERSION_1_1: NTLM belongs to a connection
    return nil
  }
}
