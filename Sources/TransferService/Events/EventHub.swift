internal import EngineAPI
package import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Hands committed events to those who listen, and progress to those who want it.
///
/// The journal is the truth: a listener that cannot keep up loses nothing but its place in memory, and reads on from
/// the journal at its own cursor.
package final class EventHub: Sendable {
  private struct State {
    var subscriptions: [EventScope: [ObjectIdentifier: EventSubscription]] = [:]
    var count = 0
    /// How many of them are of one session, or of a task of it.
    var sessionCounts: [SessionID: Int] = [:]
    /// How many of them hear of progress.
    var progressCounts: [EventScope: Int] = [:]
  }
  private let state = Mutex(State())

  package init() {}

  /// Open streams.
  package var count: Int { state.withLock { $0.count } }

  func add(_ subscription: EventSubscription) {
    state.withLock { state in
      state.subscriptions[subscription.scope, default: [:]][ObjectIdentifier(subscription)] = subscription
      state.count += 1
      if let session = subscription.sessionID { state.sessionCounts[session, default: 0] += 1 }
      if subscription.hearsProgress { state.progressCounts[subscription.scope, default: 0] += 1 }
    }
  }

  func remove(_ subscription: EventSubscription) {
    state.withLock { state in
      let removed = state.subscriptions[subscription.scope]?.removeValue(
        forKey: ObjectIdentifier(subscription))
      if removed != nil {
        state.count -= 1
        if let session = subscription.sessionID {
          state.sessionCounts[session, default: 1] -= 1
          if state.sessionCounts[session] == 0 { state.sessionCounts[session] = nil }
        }
        if subscription.hearsProgress { state.progressCounts[subscription.scope, default: 1] -= 1 }
        if state.progressCounts[subscription.scope] == 0 { state.progressCounts[subscription.scope] = nil }
      }
      if state.subscriptions[subscription.scope]?.isEmpty == true {
        state.subscriptions[subscription.scope] = nil
      }
    }
  }

  /// The ledger's commits, in order. On its thread.
  package func publish(_ feed: Feed) {
    guard count > 0 else { return }
    switch feed {
    case .committed(let fragments):
      for fragment in fragments {
        let listeners = listeners(task: fragment.taskID, in: fragment.sessionID, tenant: fragment.tenant)
        for subscription in listeners { subscription.offer(fragment) }
      }
    case .leap(let sequence): for subscription in all { subscription.fallBehind(after: sequence) }
    }
  }

  /// True where a stream is open that tells of that session, or of a task of it.
  func hasListeners(of session: TransferSession) -> Bool {
    state.withLock { state in
      state.subscriptions[.tenant(session.tenant)] != nil || state.sessionCounts[session.id] != nil
    }
  }

  /// True where progress of that task would be heard.
  /// - Parameter tenant: the session's; it is asked for only where somebody listens.
  func wantsProgress(of task: TaskID, in session: SessionID, tenant: @autoclosure () -> Tenant?) -> Bool {
    state.withLock { state in
      guard !state.progressCounts.isEmpty else { return false }
      return state.progressCounts[.task(task)] != nil || state.progressCounts[.session(session)] != nil
        || tenant().map { state.progressCounts[.tenant($0)] != nil } ?? false
    }
  }

  /// The body of a task's answer has begun: those who want its bytes get them from there.
  /// - Parameter tenant: the session's; it is asked for only where somebody listens.
  func attach(
    _ live: LiveBody, of task: TaskID, in session: SessionID, tenant: @autoclosure () -> Tenant?
  ) {
    guard count > 0 else { return }
    for subscription in listeners(task: task, in: session, tenant: tenant()) {
      subscription.attach(live, of: task, in: session)
    }
  }

  /// Makes every stream say that it lives.
  package func heartbeat() {
    for subscription in all { subscription.offerHeartbeat() }
  }

  private var all: [EventSubscription] {
    state.withLock { state in state.subscriptions.values.flatMap { Array($0.values) } }
  }

  private func listeners(task: TaskID?, in session: SessionID, tenant: Tenant?) -> [EventSubscription] {
    state.withLock { state in
      var found: [EventSubscription] = []
      if let tenant, let all = state.subscriptions[.tenant(tenant)] { found += all.values }
      if let some = state.subscriptions[.session(session)] { found += some.values }
      if let task, let some = state.subscriptions[.task(task)] { found += some.values }
      return found
    }
  }
}
