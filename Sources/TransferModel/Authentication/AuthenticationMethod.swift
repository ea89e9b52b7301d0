/// How a client shows who it is, or a server that it can be trusted (URLProtectionSpace.authenticationMethod).
package enum AuthenticationMethod: String, Sendable, CaseIterable {
  /// The protocol's own method: for a SOCKS proxy, user and password (RFC 1929).
  case `default` = "NSURLAuthenticationMethodDefault"
  case httpBasic = "NSURLAuthenticationMethodHTTPBasic"
  case httpDigest = "NSURLAuthenticationMethodHTTPDigest"
  case htmlForm = "NSURLAuthenticationMethodHTMLForm"
  case ntlm = "NSURLAuthenticationMethodNTLM"
  case negotiate = "NSURLAuthenticationMethodNegotiate"
  case clientCertificate = "NSURLAuthenticationMethodClientCertificate"
  case serverTrust = "NSURLAuthenticationMethodServerTrust"

  /// Challenges that belong to a connection: the session's delegate is asked, not the task's (Apple,
  /// urlSession(_:didReceive:completionHandler:)).
  package var isSessionLevel: Bool {
    switch self {
    case .ntlm, .negotiate, .clientCertificate, .serverTrust: true
    case .default, .httpBasic, .httpDigest, .htmlForm: false
    }
  }

  /// Whether the method uses a user name and a password. Passwords that are stored for any method, or stand in a task's URL, are then used for it.
  package var takesPassword: Bool {
    switch self {
    case .default, .httpBasic, .httpDigest, .htmlForm, .ntlm, .negotiate: true
    case .clientCertificate, .serverTrust: false
    }
  }
}
