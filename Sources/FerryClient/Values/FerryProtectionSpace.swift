internal import JSON

/// Basic login.
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// Digest login.
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// The login of a protocol without named methods, such as SOCKS.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// NTLM login.
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// Kerberos login.
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// A certificate of the client.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// Trust in the server's certificate.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// The part of a server or proxy that one credential opens. `URLProtectionSpace` in Apple's URLSession.
public final class FerryProtectionSpace: Sendable {
  /// The host's name or address.
  public let host: String
  /// The port.
  public let port: Int
  /// The URL's scheme: `http`, `https` or `socks5`.
  public let `protocol`: String?
  /// The realm that the server names.
  public let realm: String?
  /// A constant such as `NSURLAuthenticationMethodHTTPBasic`.
  public let authenticationMethod: String
  /// The server's certificates, in a server-trust challenge.
  public let serverTrust: FerryServerTrust?
  /// The issuers that the server accepts, in a client-certificate challenge.
  public let distinguishedNames: [String]?
  private let proxy: Bool

  init(_ json: JSONValue?) {
    host = json?["host"]?.string ?? ""
    port = json?["port"]?.integer.map { Int($0) } ?? 0
    `protocol` = json?["protocol"]?.string
    realm = json?["realm"]?.string
    authenticationMethod = json?["authenticationMethod"]?.string ?? NSURLAuthenticationMethodDefault
    serverTrust = json?["serverTrust"]?.present.map { FerryServerTrust($0) }
    distinguishedNames = json?["distinguishedNames"]?.strings
    proxy = json?["isProxy"]?.bool ?? false
  }

  /// Whether a proxy asks for the credential.
  public func isProxy() -> Bool { proxy }
  /// Whether the password does not travel as plain text.
  public var receivesCredentialSecurely: Bool {
    let plain = [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodDefault]
    return `protocol` == "https" || !plain.contains(authenticationMethod)
  }
}

/// The certificates of a server, with Ferry's own evaluation. `SecTrust` in Apple's Security framework.
public final class FerryServerTrust: Sendable {
  /// One certificate.
  public struct Certificate: Sendable, Hashable {
    /// The subject's name.
    public let subject: String
    /// The issuer's name.
    public let issuer: String
    /// The SHA-256 digest of the certificate, in hexadecimal.
    public let sha256: String
    /// The SHA-256 digest of the public key, in Base64.
    public let publicKeySHA256: String
    /// The certificate in PEM.
    public let pem: String
  }
  /// The chain, the server's own certificate first.
  public let certificates: [Certificate]
  /// Whether Ferry trusts the chain.
  public let isTrusted: Bool
  /// The reason of the evaluation.
  public let evaluation: String

  init(_ json: JSONValue) {
    certificates = (json["certificates"]?.elements ?? []).map {
      Certificate(
        subject: $0["subject"]?.string ?? "", issuer: $0["issuer"]?.string ?? "",
        sha256: $0["sha256"]?.string ?? "", publicKeySHA256: $0["publicKeySHA256"]?.string ?? "",
        pem: $0["pem"]?.string ?? "")
    }
    isTrusted = json["evaluation"]?["isTrusted"]?.bool ?? false
    evaluation = json["evaluation"]?["message"]?.string ?? ""
  }
}

/// A server's or proxy's demand for a credential. `URLAuthenticationChallenge` in Apple's URLSession.
public final class FerryAuthenticationChallenge: Sendable {
  /// The part of the server that the credential opens.
  public let protectionSpace: FerryProtectionSpace
  /// A stored credential that was not tried yet, or the one that was refused.
  public let proposedCredential: FerryCredential?
  /// The number of refused credentials.
  public let previousFailureCount: Int
  /// The response that refused the last request.
  public let failureResponse: FerryResponse?

  init(_ json: JSONValue) {
    protectionSpace = FerryProtectionSpace(json["protectionSpace"])
    proposedCredential = FerryCredential(json["proposedCredential"])
    previousFailureCount = json["previousFailureCount"]?.integer.map { Int($0) } ?? 0
    failureResponse = json["failureResponse"]?.present.map { HTTPFerryResponse($0) }
  }
}
