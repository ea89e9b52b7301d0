/// The liveness of the processes that share a ledger, and a wakeup for each of them.
package protocol ClusterCoordinator: Sendable {
  /// The address of this process. The process counts as alive there from before it joins until it ends.
  var address: String { get }

  /// How long this process may rely on the ownership that it read last, or `nil` for no limit. No other process takes over earlier.
  var lease: Duration? { get }

  /// Returns whether the process at an address is alive and has renewed its lease. A frozen process has not.
  func isAlive(at address: String) -> Bool

  /// Kills processes whose lease has expired, whether they have joined or not. A process that froze during a write keeps others from the
  /// ledger. If it resumed, it would find itself fenced off and exit.
  /// - Returns: whether there are other processes.
  @discardableResult func killUnresponsivePeers() -> Bool

  /// Wakes a process, which then reads the ledger.
  func wake(at address: String)
}

extension ClusterCoordinator {
  package var lease: Duration? { nil }
  package func killUnresponsivePeers() -> Bool { false }
}

/// The liveness of a process that shares its ledger with no other.
package struct SingleNodeCoordinator: ClusterCoordinator {
  package init() {}
  package var address: String { "" }
  package func isAlive(at address: String) -> Bool { false }
  package func wake(at address: String) {}
}
