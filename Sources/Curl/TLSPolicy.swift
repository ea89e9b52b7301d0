internal import CHandshake

/// The authorities that a session trusts.
package final class TLSRoots: @unchecked Sendable {
  // Unchecked: never changed; OpenSSL counts and locks what is behind it.
  package struct Fault: Error, Sendable, CustomStringConvertible {
    package let message: String
    package var description: String { message }
  }
  let raw: OpaquePointer

  /// An empty set.
  package init() {
    var problem = CString()
    guard let raw = chandshake_roots_create(nil, nil, &problem.bytes, problem.bytes.count) else {
      preconditionFailure("an empty set of certificates cannot be made: \(problem.text)")
    }
    self.raw = raw
  }

  /// - Parameter file: path of a file with certificates in PEM.
  package init(file: String) throws(Fault) { raw = try Self.read(file: file, pem: nil) }

  /// - Parameter pem: certificates in PEM.
  package init(pem: String) throws(Fault) {
    // C would not see what stands behind it.
    guard !pem.utf8.contains(0) else { throw Fault(message: "not certificates in PEM: a zero byte") }
    raw = try Self.read(file: nil, pem: pem)
  }

  /// Joins two sets; no certificate is read or copied.
  /// - Precondition: neither argument is itself a joined set.
  package init(_ first: TLSRoots, and second: TLSRoots) { raw = chandshake_roots_join(first.raw, second.raw) }

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

  /// The file of the system's authorities, as libcurl was built to find them.
  package static var systemFile: String {
    CurlVersion.certificateAuthorityFile ?? "/etc/ssl/certs/ca-certificates.crt"
  }
}

/// A client's certificate and its key (URLCredential with a SecIdentity). On one thread only.
package final class TLSIdentity {
  package struct Fault: Error, Sendable, CustomStringConvertible {
    /// Begins with `certificate` or `key`.
    package let message: String
    package var description: String { message }
  }
  let raw: OpaquePointer

  /// - Parameters:
  ///   - certificate: PEM, perhaps with those of the authorities between it and the root.
  ///   - key: PEM, without a passphrase.
  package init(certificate: String, key: String) throws(Fault) {
    // C would not see what stands behind it.
    guard !certificate.utf8.contains(0) else {
      throw Fault(message: "certificate is not one in PEM: a zero byte")
    }
    guard !key.utf8.contains(0) else { throw Fault(message: "key is not one in PEM: a zero byte") }
    var problem = CString()
    guard let raw = chandshake_identity_create(certificate, key, &problem.bytes, problem.bytes.count) else {
      throw Fault(message: problem.text)
    }
    self.raw = raw
  }
  deinit { chandshake_identity_free(raw) }
}

/// By what the peers of one host are judged, and which handshakes are held. On its multi handle's thread only.
package final class TLSPolicy {
  let raw: OpaquePointer
  /// Whether a handshake may be cut short by resuming an earlier one: where none is held for a decision, and nobody is shown
  /// who the client is, as that would stay so when the certificate is another one or none.
  let resumes: Bool

  /// - Parameters:
  ///   - host: whose certificate it must be.
  ///   - pins: SHA-256 digests of keys, one of which the chain must have; empty: any will do.
  ///   - waitsAtEnd: each handshake is held once more when it is over, before anything of a request goes out.
  ///   - identity: shown where a server asks for a certificate and nobody else is asked.
  package init(
    roots: TLSRoots, host: String, pins: [[UInt8]] = [], asksForTrust: Bool = false,
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

/// Room for what C writes.
struct CString {
  var bytes = [CChar](repeating: 0, count: 256)
  var text: String {
    String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
