/// The method by which a client or a server authenticates (URLProtectionSpace.authenticationMethod).
package enum AuthenticationMethod: String, Sendable, CaseIterable {
  /// The default method of the protocol. For a SOCKS proxy, this is user and password (RFC 1929).
  case `default` = "NSURLAuthenticationMethodDefault"
  case httpBasic = "NSURLAuthenticationMethodHTTPBasic"
  case httpDigest = "NSURLAuthenticationMethodHTTPDigest"
  case htmlForm = "NSURLAuthenticationMethodHTMLForm"
  case ntlm = "NSURLAuthenticationMethodNTLM"
  case negotiate = "NSURLAuthenticationMethodNegotiate"
  case clientCertificate = "NSURLAuthenticationMethodClientCertificate"
  case serverTrust = "NSURLAuthenticationMethodServerTrust"

  /// Whether the challenge belongs to a connection. The session's delegate handles such challenges, not the task's (Apple,
  /// urlSession(_:didReceive:completionHandler:)).
  package var isSessionLevel: Bool {
    switch self {
    case .ntlm, .negotiate, .clientCertificate, .serverTrust: true
    case .default, .httpBasic, .httpDigest, .htmlForm: false
    }
  }

  /// Whether the method uses a user name and a password. Only such methods use passwords from a task's URL, or passwords stored for any
  /// method.
  package var usesPassword: Bool {
    switch self {
    case .default, .httpBasic, .httpDigest, .htmlForm, .ntlm, .negotiate: true
    case .clientCertificate, .serverTrust: false
    }
  }
}
