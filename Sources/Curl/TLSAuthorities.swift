internal import Synchronization

/// The authorities that a process trusts by now: they can be read again while it runs.
package final class TLSAuthorities: Sendable {
  private let roots: Mutex<TLSRoots>

  package init(_ roots: TLSRoots) { self.roots = Mutex(roots) }

  package var current: TLSRoots { roots.withLock { $0 } }

  /// From here on peers are judged by these. Connections that are open were judged before.
  package func replace(by roots: TLSRoots) { self.roots.withLock { $0 = roots } }
}
