internal import CHandshake

/// A set of trusted certificate authorities.
package final class CertificateAuthoritySet: @unchecked Sendable {
  // Unchecked: immutable. OpenSSL locks the objects that it shares, and counts their references.
  package struct Fault: Error, Sendable, CustomStringConvertible {
    package let message: String
    package var description: String { message }
  }
  let raw: OpaquePointer

  /// Creates an empty set.
  package init() {
    var problem = CString()
    guard let raw = chandshake_roots_create(nil, nil, &problem.bytes, problem.bytes.count) else {
      preconditionFailure("an empty set of certificates cannot be made: \(problem.text)")
    }
    self.raw = raw
  }

  /// - Parameter file: The path of a file with certificates in PEM.
  package init(file: String) throws(Fault) { raw = try Self.read(file: file, pem: nil) }

  /// - Parameter pem: Certificates in PEM.
  package init(pem: String) throws(Fault) {
    // C would ignore all text after a zero byte.
    guard !pem.utf8.contains(0) else { throw Fault(message: "must be certificates in PEM: a zero byte") }
    raw = try Self.read(file: nil, pem: pem)
  }

  /// Joins two sets, without reading or copying certificates.
  /// - Precondition: Neither argument is itself a joined set.
  package init(_ first: CertificateAuthoritySet, and second: CertificateAuthoritySet) {
    raw = chandshake_roots_join(first.raw, second.raw)
  }

  private static func read(file: String?, pem: String?) throws(Fault) -> OpaquePointer {
    var problem = CString()
    guard let raw = chandshake_roots_create(file, pem, &problem.bytes, problem.bytes.count) else {
      throw Fault(message: problem.text)
    }
    return raw
  }

  /// The largest number of distinct certificates with the same subject.
  package var largestSubjectCount: Int { chandshake_roots_largest_subject_count(raw) }

  deinit { chandshake_roots_free(raw) }

  /// The file of the system's certificate authorities that libcurl was built with.
  package static var systemFile: String {
    CurlVersion.certificateAuthorityFile ?? "/etc/ssl/certs/ca-certificates.crt"
  }
}

/// A client certificate and its key (URLCredential with a SecIdentity). Used on one thread only.
package final class TLSIdentity {
  package struct Fault: Error, Sendable, CustomStringConvertible {
    /// The message, which begins with `certificate` or `key`.
    package let message: String
    package var description: String { message }
  }
  let raw: OpaquePointer

  /// - Parameters:
  ///   - certificate: The certificate in PEM. Intermediate certificates may follow it.
  ///   - key: The key in PEM, without a passphrase.
  package init(certificate: String, key: String) throws(Fault) {
    // C would ignore all text after a zero byte.
    guard !certificate.utf8.contains(0) else {
      throw Fault(message: "certificate must be in PEM: a zero byte")
    }
    guard !key.utf8.contains(0) else { throw Fault(message: "key must be in PEM: a zero byte") }
    var problem = CString()
    guard let raw = chandshake_identity_create(certificate, key, &problem.bytes, problem.bytes.count) else {
      throw Fault(message: problem.text)
    }
    self.raw = raw
  }
  deinit { chandshake_identity_free(raw) }
}

/// The verification of one host's certificates, and the choice of handshakes to hold. Used on its multi handle's thread only.
package final class TLSPolicy {
  let raw: OpaquePointer
  /// Whether an earlier TLS session may be resumed: only if no handshake is held for a decision and the client has no certificate. A
  /// resumed session would keep the client's identity after the certificate has changed.
  let resumes: Bool

  /// - Parameters:
  ///   - host: The host that the certificate must name.
  ///   - pins: SHA-256 digests of keys, one of which the chain must have; empty for no pins.
  ///   - waitsAtEnd: Whether each complete handshake is held again before any part of a request is sent.
  ///   - identity: The certificate to send if a server requests one and no delegate is asked.
  package init(
    roots: CertificateAuthoritySet, host: String, pins: [[UInt8]] = [], asksForTrust: Bool = false,
    asksForCertificate: Bool = false, waitsAtEnd: Bool = false, identity: TLSIdentity? = nil,
    in multi: MultiHandle
  ) {
    resumes = !asksForTrust && !asksForCertificate && !waitsAtEnd && identity == nil
    raw = chandshake_policy_create(
      roots.raw, host, pins.flatMap { $0 }, pins.count, asksForTrust, asksForCertificate, waitsAtEnd,
      identity?.raw, multi.handshakes)
  }
  deinit { chandshake_policy_release(raw) }
}

/// A buffer for text that C writes.
struct CString {
  var bytes = [CChar](repeating: 0, count: 256)
  var text: String {
    String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
