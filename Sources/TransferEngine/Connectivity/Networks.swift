package import Addresses
package import EventLoop
internal import Netlink
internal import Synchronization

/// The networks of this machine: as they are, as the operator classes them, and when they change.
package final class Networks: Sendable {
  private let policy: InterfacePolicy
  private let state = Mutex(State())

  private struct State {
    var snapshot: NetworkSnapshot?
    var monitor: NetworkMonitor?
    var firstLook: [@Sendable () -> Void] = []
  }

  package init(policy: InterfacePolicy = InterfacePolicy()) { self.policy = policy }

  /// Some interface is not for every task.
  package var hasClasses: Bool { !policy.named.isEmpty }

  /// Looks at the networks from here on. Before the loop starts, or on it.
  /// - Parameter changed: called on the loop, and told whether something is gone that connections may hang on.
  /// - Returns: false where the system does not let it.
  package func watch(on loop: EventLoop, changed: @escaping (_ hasLost: Bool) -> Void) -> Bool {
    guard let socket = try? NetlinkSocket() else { return false }
    let monitor = NetworkMonitor(socket: socket, loop: loop)
    state.withLock { $0.monitor = monitor }
    monitor.start { [weak self] snapshot in
      changed(self?.take(snapshot) ?? false)
    }
    return true
  }

  private func take(_ snapshot: NetworkSnapshot) -> Bool {
    let (earlier, waiting) = state.withLock { state in
      defer { (state.snapshot, state.firstLook) = (snapshot, []) }
      return (state.snapshot, state.firstLook)
    }
    for action in waiting { action() }
    return earlier.map { snapshot.lacksSome(of: $0) } ?? false
  }

  /// Returns once it is known what there is.
  package func wait() async {
    await withCheckedContinuation { continuation in
      let isKnown = state.withLock { state in
        if state.snapshot == nil { state.firstLook.append { continuation.resume() } }
        return state.snapshot != nil
      }
      if isKnown { continuation.resume() }
    }
  }

  /// On the loop.
  func stop() {
    state.withLock { $0.monitor }?.stop()
    state.withLock { $0.monitor = nil }
  }

  /// By which interface a task goes that may use these classes.
  func choice(to address: IPAddress, allowing allowed: InterfaceClasses) -> InterfaceChoice {
    guard !policy.named.isSubset(of: allowed) else { return .any }
    guard let snapshot = state.withLock({ $0.snapshot }) else { return .unreachable }
    return .choose(to: .address(address), in: snapshot, under: policy, allowing: allowed)
  }

  /// The classes of the interface that has this address; nil where there is none, or no interface has a class.
  func classes(ofLocal address: String) -> InterfaceClasses? {
    guard hasClasses, let address = IPAddress(address)?.unmapped else { return nil }
    let interfaces = state.withLock { $0.snapshot?.interfaces }
    let interface = interfaces?.first { $0.addresses.contains { $0.unmapped == address } }
    return interface.map { policy.classes(of: $0.name) }
  }

  /// Connections of tasks that may use other classes are not for these.
  func lane(of allowed: InterfaceClasses) -> InterfaceClasses { allowed.intersection(policy.named) }

  /// Some way leads out of this machine. True where that is not known.
  var hasNetwork: Bool { state.withLock { $0.snapshot }?.leadsOut ?? true }
}
