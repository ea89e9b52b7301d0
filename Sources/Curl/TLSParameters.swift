internal import CCurl
internal import CHandshake

/// The state of a server's request for a client certificate.
package enum CertificateRequest: Sendable {
  /// There was no request, or the server has accepted the client.
  case none
  /// No certificate was sent.
  case unmet
  case answered
}

/// The TLS connection of a request. It may be closed.
final class TLSConnection {
  private let raw: OpaquePointer

  /// Returns `nil` if the transfer has no connection, or one without TLS.
  init?(of easy: UnsafeMutableRawPointer) {
    guard let session = ccurl_easy_get_tls_session(easy), let raw = chandshake_of_session(session) else {
      return nil
    }
    self.raw = raw
  }
  /// Creates a reference to a connection that is being opened.
  init(context: UnsafeRawPointer) { raw = chandshake_of_context(context) }
  deinit { chandshake_release(raw) }

  /// The last alert of the peer; 0 if there was none.
  var alert: Int { Int(chandshake_alert(raw)) }

  var certificateRequest: CertificateRequest {
    switch chandshake_get_request(raw) {
    case chandshake_is_unmet: .unmet
    case chandshake_is_answered: .answered
    default: .none
    }
  }

  /// Records that the server has begun to respond to a request.
  func didReceiveResponse() { chandshake_note_response(raw) }
}

/// The negotiated parameters of a TLS connection.
package struct TLSParameters: Sendable, Equatable {
  /// The version as in configurations, such as `TLSv1.3`.
  package let version: String
  /// The IANA name, such as `TLS_AES_256_GCM_SHA384`.
  package let cipherSuite: String

  /// Returns `nil` if the transfer has no connection, or one without TLS (CURLINFO_TLS_SSL_PTR).
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
