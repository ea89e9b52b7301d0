internal import CCurl
internal import CHandshake

/// How a server's request for the client's certificate stands.
package enum CertificateRequest: Sendable {
  /// There was none, or the client was let in.
  case none
  /// No certificate was shown.
  case unmet
  case answered
}

/// A TLS connection by which a request went out, or was to. It may be closed since.
final class TLSConnection {
  private let raw: OpaquePointer

  /// Nil where the transfer has no connection, or none with TLS.
  init?(of easy: UnsafeMutableRawPointer) {
    guard let session = ccurl_easy_get_tls_session(easy), let raw = chandshake_of_session(session) else {
      return nil
    }
    self.raw = raw
  }
  /// Of a connection that is being made.
  init(context: UnsafeRawPointer) { raw = chandshake_of_context(context) }
  deinit { chandshake_release(raw) }

  /// The last alert that the peer sent; 0: none.
  var alert: Int { Int(chandshake_alert(raw)) }

  var certificateRequest: CertificateRequest {
    switch chandshake_get_request(raw) {
    case chandshake_is_unmet: .unmet
    case chandshake_is_answered: .answered
    default: .none
    }
  }

  /// The server has begun to answer a request.
  func noteAnswer() { chandshake_let_in(raw) }
}

/// What the two ends of a TLS connection have agreed on.
package struct TLSParameters: Sendable, Equatable {
  /// As configurations name it: `TLSv1.2`, `TLSv1.3`.
  package let version: String
  /// By its name at IANA, such as `TLS_AES_256_GCM_SHA384`.
  package let cipherSuite: String

  /// Nil where the transfer has no connection, or none with TLS (CURLINFO_TLS_SSL_PTR).
  init?(of easy: UnsafeMutableRawPointer) {
    guard let session = ccurl_easy_get_tls_session(easy) else { return nil }
    var (version, cipherSuite): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
    chandshake_get_agreed(session, &version, &cipherSuite)
    guard let version, let cipherSuite else { return nil }
    let name = String(cString: version)
    self.version = name == "TLSv1" ? "TLSv1.0" : name
    self.cipherSuite = String(cString: cipherSuite)
  }
}
