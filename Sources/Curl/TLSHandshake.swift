internal import CHandshake
internal import CCurl
internal import Glibc

/// A handshake that is held until somebody decides. On its multi handle's thread only.
package final class TLSHandshake {
  package enum Question: Sendable {
    case trust, certificate
    /// It is over, and the request is about to go out; every decision but `refuse` lets it.
    case end
  }
  package enum Decision {
    /// What the evaluation found; the policy's own certificate or none.
    case byDefault
    /// The peer is trusted.
    case trust
    /// The server is shown this.
    case identity(TLSIdentity)
    /// The server is shown no certificate.
    case noIdentity
    case refuse
  }
  /// A certificate of a peer's chain. Names as RFC 2253 writes them, times in seconds since 1970.
  package struct Certificate: Sendable {
    package let pem: String
    package let subject: String
    package let issuer: String
    package let notBefore: Int64
    package let notAfter: Int64
    package let sha256: [UInt8]
    /// Of the SubjectPublicKeyInfo: what pins name (RFC 7469 §2.4).
    package let keySHA256: [UInt8]
  }

  private let raw: OpaquePointer
  init(_ raw: OpaquePointer) { self.raw = raw }
  deinit { chandshake_release(raw) }

  var easy: UnsafeMutableRawPointer? { chandshake_easy(raw) }
  package var question: Question {
    switch chandshake_get_question(raw) {
    case chandshake_is_trust: .trust
    case chandshake_is_end: .end
    default: .certificate
    }
  }
  /// Nobody has decided yet.
  package var isOpen: Bool { chandshake_is_open(raw) }

  /// What the default evaluation found (X509_V_…); 0: trusted.
  package var verifyError: Int { Int(chandshake_verify_error(raw)) }
  package var verifyMessage: String {
    String(cString: chandshake_verify_message(chandshake_verify_error(raw)))
  }

  /// SHA-256 over the whole chain.
  package var chainDigest: [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    chandshake_chain_digest(raw, &digest)
    return digest
  }

  /// The peer's own certificate first.
  package var chain: [Certificate] {
    (0..<chandshake_chain_count(raw)).map { index in
      var certificate = chandshake_certificate()
      chandshake_copy_certificate(raw, index, &certificate)
      defer { chandshake_certificate_clear(&certificate) }
      return Certificate(certificate)
    }
  }

  /// The authorities whose certificates the server accepts; empty: any.
  package var issuers: [String] {
    (0..<chandshake_issuer_count(raw)).compactMap { index in
      guard let text = chandshake_copy_issuer(raw, index) else { return nil }
      defer { free(text) }
      return String(cString: text)
    }
  }

  /// Decides, once; `CurlTransport.wake` then lets the handshake go on.
  package func decide(_ decision: Decision) {
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
