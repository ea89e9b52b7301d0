internal import EngineAPI
package import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Gives committed events to event streams, and progress to the streams that asked for it.
///
/// The journal has every event. A slow stream loses its queue and reads the journal from its own cursor.
package final class EventHub: Sendable {
  private struct State {
    var subscriptions: [EventScope: [ObjectIdentifier: EventSubscription]] = [:]
    var count = 0
    /// The number of streams of one session or of one of its tasks.
    var sessionCounts: [SessionID: Int] = [:]
    /// The number of streams with progress.
    var progressCounts: [EventScope: Int] = [:]
  }
  private let state = Mutex(State())

  package init() {}

  /// The number of open streams.
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

  /// Publishes the ledger's commits, in order. Called on the ledger's thread.
  package func publish(_ feed: Feed) {
    guard count > 0 else { return }
    switch feed {
    case .committed(let fragments):
      for fragment in fragments {
        let listeners = listeners(task: fragment.taskID, in: fragment.sessionID, tenant: fragment.tenant)
        for subscription in listeners { subscription.offer(fragment) }
      }
    case .gap(let sequence): for subscription in all { subscription.switchToJournal(after: sequence) }
    }
  }

  /// Whether an open stream covers the session or one of its tasks.
  func hasListeners(of session: TransferSession) -> Bool {
    state.withLock { state in
      state.subscriptions[.tenant(session.tenant)] != nil || state.sessionCounts[session.id] != nil
    }
  }

  /// Whether an open stream wants the task's progress.
  /// - Parameter tenant: the session's tenant, evaluated only if there are such streams.
  func wantsProgress(of task: TaskID, in session: SessionID, tenant: @autoclosure () -> Tenant?) -> Bool {
    state.withLock { state in
      guard !state.progressCounts.isEmpty else { return false }
      return state.progressCounts[.task(task)] != nil || state.progressCounts[.session(session)] != nil
        || tenant().map { state.progressCounts[.tenant($0)] != nil } ?? false
    }
  }

  /// Attaches the body of a task's response to the streams that want its bytes.
  /// - Parameter tenant: the session's tenant, evaluated only if there are streams.
  func attach(
    _ live: LiveBody, of task: TaskID, in session: SessionID, _ tags: TaskTags?,
    tenant: @autoclosure () -> Tenant?
  ) {
    guard count > 0 else { return }
    for subscription in listeners(task: task, in: session, tenant: tenant()) {
      subscription.attach(live, of: task, in: session, tags)
    }
  }

  /// Makes every stream send a heartbeat.
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
