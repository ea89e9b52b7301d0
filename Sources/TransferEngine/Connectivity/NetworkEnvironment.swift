package import Addresses
package import EventLoop
internal import Netlink
internal import Synchronization

/// The networks of this machine: their state, their classes and their changes.
package final class NetworkEnvironment: Sendable {
  private let policy: InterfacePolicy
  private let state = Mutex(State())

  private struct State {
    var snapshot: NetworkSnapshot?
    var monitor: NetworkMonitor?
    var firstLook: [@Sendable () -> Void] = []
  }

  package init(policy: InterfacePolicy = InterfacePolicy()) { self.policy = policy }

  /// Whether the operator has assigned a class to some interface.
  package var hasClasses: Bool { !policy.named.isEmpty }

  /// Starts to watch the networks. Call this before the loop starts, or on it.
  /// - Parameter changed: Called on the loop; its argument says whether a route was lost that connections may use.
  /// - Returns: `false` if the system does not permit it.
  package func watch(on loop: EventLoop, changed: @escaping (_ hasLost: Bool) -> Void) -> Bool {
    guard let socket = try? NetlinkSocket() else { return false }
    let monitor = NetworkMonitor(socket: socket, loop: loop)
    state.withLock { $0.monitor = monitor }
    monitor.start { [weak self] snapshot in
      changed(self?.update(snapshot) ?? false)
    }
    return true
  }

  private func update(_ snapshot: NetworkSnapshot) -> Bool {
    let (earlier, waiting) = state.withLock { state in
      defer { (state.snapshot, state.firstLook) = (snapshot, []) }
      return (state.snapshot, state.firstLook)
    }
    for action in waiting { action() }
    return earlier.map { snapshot.hasLost(of: $0) } ?? false
  }

  /// Returns when the networks are known.
  package func wait() async {
    await withCheckedContinuation { continuation in
      let isKnown = state.withLock { state in
        if state.snapshot == nil { state.firstLook.append { continuation.resume() } }
        return state.snapshot != nil
      }
      if isKnown { continuation.resume() }
    }
  }

  /// Stops watching. Call this on the loop.
  func stop() {
    state.withLock { $0.monitor }?.stop()
    state.withLock { $0.monitor = nil }
  }

  /// Returns the interface for a task that may use these classes.
  func choice(to address: IPAddress, allowing allowed: InterfaceClasses) -> InterfaceChoice {
    guard !policy.named.isSubset(of: allowed) else { return .any }
    guard let snapshot = state.withLock({ $0.snapshot }) else { return .unreachable }
    return .choose(to: .address(address), in: snapshot, under: policy, allowing: allowed)
  }

  /// Returns the classes of the interface with this address; `nil` if there is none, or no interface has a class.
  func classes(ofLocal address: String) -> InterfaceClasses? {
    guard hasClasses, let address = IPAddress(address)?.unmapped else { return nil }
    let interfaces = state.withLock { $0.snapshot?.interfaces }
    let interface = interfaces?.first { $0.addresses.contains { $0.unmapped == address } }
    return interface.map { policy.classes(of: $0.name) }
  }

  /// Returns the classes that separate connections: a task uses only connections whose classes equal its own.
  func lane(of allowed: InterfaceClasses) -> InterfaceClasses { allowed.intersection(policy.named) }

  /// Whether a route leads out of this machine. `true` if unknown.
  var hasNetwork: Bool { state.withLock { $0.snapshot }?.hasExternalRoute ?? true }
}
