internal import Synchronization

/// The certificate authorities that the process trusts. They can be replaced while it runs.
package final class CertificateAuthorities: Sendable {
  private let roots: Mutex<CertificateAuthoritySet>

  package init(_ roots: CertificateAuthoritySet) { self.roots = Mutex(roots) }

  package var current: CertificateAuthoritySet { roots.withLock { $0 } }

  /// Replaces the certificate authorities for new connections. Open connections stay.
  package func replace(by roots: CertificateAuthoritySet) { self.roots.withLock { $0 = roots } }
}
