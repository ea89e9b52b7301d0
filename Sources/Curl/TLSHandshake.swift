internal import CHandshake
internal import CCurl
internal import Glibc

/// A TLS handshake that waits for a decision. Used on its multi handle's thread only.
package final class TLSHandshake {
  package enum PausePoint: Sendable {
    case trust, certificate
    /// The handshake is complete, and the request is about to be sent. Every decision except `refuse` permits it.
    case end
  }
  package enum Resolution {
    /// The result of the verification, or the policy's own certificate if it has one.
    case byDefault
    /// The peer is trusted.
    case trust
    /// The certificate to send to the server.
    case identity(TLSIdentity)
    /// No certificate is sent to the server.
    case noIdentity
    case refuse
  }
  /// A certificate of a peer's chain. Names are written as in RFC 2253, times are seconds since 1970.
  package struct Certificate: Sendable {
    package let pem: String
    package let subject: String
    package let issuer: String
    package let notBefore: Int64
    package let notAfter: Int64
    package let sha256: [UInt8]
    /// The digest of the SubjectPublicKeyInfo, as in pins (RFC 7469 §2.4).
    package let keySHA256: [UInt8]
  }

  private let raw: OpaquePointer
  init(_ raw: OpaquePointer) { self.raw = raw }
  deinit { chandshake_release(raw) }

  var easy: UnsafeMutableRawPointer? { chandshake_easy(raw) }
  package var question: PausePoint {
    switch chandshake_get_question(raw) {
    case chandshake_is_trust: .trust
    case chandshake_is_end: .end
    default: .certificate
    }
  }
  /// Whether there is no decision yet.
  package var isOpen: Bool { chandshake_is_open(raw) }

  /// The result of the default verification (X509_V_…); 0 if the peer is trusted.
  package var verifyError: Int { Int(chandshake_verify_error(raw)) }
  package var verifyMessage: String {
    String(cString: chandshake_verify_message(chandshake_verify_error(raw)))
  }

  /// The SHA-256 digest of the whole chain.
  package var chainDigest: [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    chandshake_chain_digest(raw, &digest)
    return digest
  }

  /// The chain, beginning with the peer's own certificate.
  package var chain: [Certificate] {
    (0..<chandshake_chain_count(raw)).map { index in
      var certificate = chandshake_certificate()
      chandshake_copy_certificate(raw, index, &certificate)
      defer { chandshake_certificate_clear(&certificate) }
      return Certificate(certificate)
    }
  }

  /// The names of the certificate authorities that the server accepts; empty if it accepts any.
  package var issuers: [String] {
    (0..<chandshake_issuer_count(raw)).compactMap { index in
      guard let text = chandshake_copy_issuer(raw, index) else { return nil }
      defer { free(text) }
      return String(cString: text)
    }
  }

  /// Decides, once. `CurlTransport.wake` then continues the handshake.
  package func decide(_ decision: Resolution) {
    switch decision {
    case .byDefault: chandshake_decide(raw, chandshake_default, nil)
    case .trust, .noIdentity: chandshake_decide(raw, chandshake_accept, nil)
    case .identity(let identity): chandshake_decide(raw, chandshake_accept, identity.raw)
    case .refuse: chandshake_decide(raw, chandshake_refuse, nil)
    }
  }
}

extension TLSHandshake.Certificate {
  fileprivate init(_ certificate: chandshake_certificate) {
    pem = certificate.pem.map { String(cString: $0) } ?? ""
    subject = certificate.subject.map { String(cString: $0) } ?? ""
    issuer = certificate.issuer.map { String(cString: $0) } ?? ""
    notBefore = certificate.not_before
    notAfter = certificate.not_after
    sha256 = withUnsafeBytes(of: certificate.sha256) { Array($0) }
    keySHA256 = withUnsafeBytes(of: certificate.key_sha256) { Array($0) }
  }
}
