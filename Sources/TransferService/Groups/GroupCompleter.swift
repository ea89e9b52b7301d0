internal import Ledger
internal import Logging
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Completes closed groups whose tasks have all ended.
///
/// The end of a group is one commit with its counts and its event. The commit has a condition (`ChangeCondition.groupEnded`), so that only
/// one of several services succeeds, and only with the right counts. It is tried after each commit that ends a task of the group, after
/// the group was closed, and after a take-over.
final class GroupCompleter: Sendable {
  private struct State {
    var waiting: Set<TaskGroupKey> = []
    /// Whether all closed groups must be read.
    var mustReadAll = false
    var isRunning = false
  }
  /// Attempts for one group while its tasks change.
  private static let attempts = 10
  /// The pause before another attempt if the ledger refuses, in seconds.
  private static let pause = 1.0

  private let runtime: SessionRuntime
  private let deliveries: EndpointDeliveries
  private let now: @Sendable () -> Timestamp
  private let logger: Logger
  private let state = Mutex(State())

  init(
    runtime: SessionRuntime, deliveries: EndpointDeliveries, now: @escaping @Sendable () -> Timestamp,
    logger: Logger
  ) {
    (self.runtime, self.deliveries, self.now, self.logger) = (runtime, deliveries, now, logger)
    runtime.groupCallback.connect { [weak self] in self?.add($0) }
  }

  private var store: any Ledger { runtime.recorder.store }

  /// Completes the groups, or all closed groups for `nil`. Returns at once.
  func add(_ groups: Set<TaskGroupKey>?) {
    let mustStart = state.withLock { state in
      if let groups { state.waiting.formUnion(groups) } else { state.mustReadAll = true }
      guard !state.isRunning, state.mustReadAll || !state.waiting.isEmpty else { return false }
      state.isRunning = true
      return true
    }
    if mustStart { runtime.spawn { [self] in await run() } }
  }

  private enum Work {
    case all
    case group(TaskGroupKey)
  }

  private func run() async {
    while let work = next() {
      do throws(LedgerError) {
        switch work {
        case .all: add(Set(try await store.closedGroups().map(\.key)))
        case .group(let key): try await complete(key)
        }
      } catch {
        switch error {
        // A service that has left or was replaced writes nothing. Its successor completes the group.
        case .fencedOff: return stop()
        // The next run of the pruner tries again, after an operator may have repaired the row.
        case .unreadable(let row):
          logger.error("a closed group is not completed, because a row is unreadable: \(row)")
          continue
        default: break
        }
        state.withLock { state in
          switch work {
          case .all: state.mustReadAll = true
          case .group(let key): state.waiting.insert(key)
          }
          state.isRunning = false
        }
        runtime.deadlines.add(.groups, after: Self.pause)
        return
      }
    }
  }

  private func stop() {
    state.withLock { state in
      state.waiting = []
      state.isRunning = false
    }
  }

  private func next() -> Work? {
    state.withLock { state in
      if state.mustReadAll {
        state.mustReadAll = false
        return .all
      }
      if let key = state.waiting.popFirst() { return .group(key) }
      state.isRunning = false
      return nil
    }
  }

  /// Completes a group if it is closed and its tasks have ended.
  func complete(_ key: TaskGroupKey) async throws(LedgerError) {
    for _ in 0..<Self.attempts {
      guard var group = try await store.group(key), group.state == .closed,
        // Most ends are not the last of their group. Counting its tasks for each would be quadratic.
        try await !store.hasUnfinishedTasks(key)
      else { return }
      let counts = try await store.counts(of: key)
      guard counts.unfinished == 0 else { return }
      (group.completedAt, group.finalCounts) = (now(), counts)
      do throws(LedgerError) {
        let change = try await change(group, counts)
        try await store.write(change)
        if !change.newDeliveries.isEmpty { runtime.recorder.newDeliveries.deliver(change.newDeliveries) }
        return
      } catch {
        // A task was deleted, or another service was faster.
        guard case .conditionFailed = error else { throw error }
      }
    }
    throw .unavailable("the group changed during every attempt")
  }

  private func change(
    _ group: TaskGroup, _ counts: GroupCounts
  ) async throws(LedgerError) -> LedgerChange {
    var change = LedgerChange()
    change.conditions = [.groupEnded(group.key, counts)]
    change.completedGroups = [group]
    change.events = [group.completionEvent].compactMap { $0 }
    change.newDeliveries = try await messages(about: group)
    return change
  }

  /// Returns the messages to the endpoints that subscribe to the end of groups, and to the webhooks of sessions with tasks in the group whose
  /// delegates select it. A message to an endpoint belongs to the shared session, whose owner sends it.
  private func messages(about group: TaskGroup) async throws(LedgerError) -> [WebhookDelivery] {
    func event(in session: SessionID) -> TransferEvent {
      TransferEvent(
        .groupDidComplete, at: group.completedAt ?? now(), session: session, .groupCompleted(group))
    }
    let tenant = group.key.tenant
    var found = deliveries.deliveries(of: [event(in: .shared(of: tenant))], for: tenant)
    for id in try await store.sessions(of: group.key) {
      guard let session = try await readable(id), let delegate = session.delegate,
        delegate.events.contains(.groupDidComplete)
      else { continue }
      let event = event(in: id)
      let message = WebhookMessage(
        id: deliveries.identifiers.make(), webhook: nil, createdAt: event.time, content: .event(event, nil))
      if let delivery = WebhookDelivery(message, of: session, in: store) {
        found.append(deliveries.delayed(delivery))
      }
    }
    return found
  }

  /// Returns a session; `nil` if it does not exist or its row is unreadable. The others still receive their messages.
  private func readable(_ id: SessionID) async throws(LedgerError) -> TransferSession? {
    do throws(LedgerError) { return try await store.session(id) } catch {
      guard case .unreadable(let row) = error else { throw error }
      logger.error("the webhook of an unreadable session receives no end of a group: \(row)")
      return nil
    }
  }
}
