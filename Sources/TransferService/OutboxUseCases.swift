internal import Synchronization
internal import TransferCore
internal import TransferEngine
package import TransferModel
internal import TransferStore

/// What a reader wants of a stream's events.
package struct EventWish: Sendable {
  /// Those that came after this one are told first; nil: only what comes from now on.
  package var after: Int64?
  /// nil: all.
  package var types: Set<EventType>?
  package var wantsProgress: Bool
  /// The bytes of data tasks come along.
  package var wantsData: Bool

  package init(after: Int64?, types: Set<EventType>?, wantsProgress: Bool, wantsData: Bool) {
    self.after = after
    self.types = types
    self.wantsProgress = wantsProgress
    self.wantsData = wantsData
  }
}

extension TransferService {
  /// Messages whose next attempt is due.
  package func dueDeliveries(limit: Int) async throws(ServiceError) -> [WebhookDelivery] {
    do throws(StoreError) { return try await store.dueDeliveries(at: now, limit: limit) } catch {
      throw .store(error)
    }
  }

  /// When the next attempt is due; nil where the outbox is empty.
  package func nextDeliveryTime() async throws(ServiceError) -> Timestamp? {
    do throws(StoreError) { return try await store.nextDeliveryTime() } catch { throw .store(error) }
  }

  /// Writes what came of attempts; `committed` is called once that is on the disk.
  package func recordAttempts(_ deliveries: [WebhookDelivery], committed: @escaping @Sendable () -> Void) {
    var change = StoreChange()
    change.updatedDeliveries = deliveries
    registry.withLock { registry in
      for delivery in deliveries { wakeAgain(after: delivery, &registry, into: &change) }
      record(change) { [self] in
        if Flaw.settlesNoMessage.isPresent { return committed() }
        noteSettled(deliveries.filter { $0.state != .pending })
        committed()
      }
    }
  }

  /// A stream of the events of `scope`.
  /// - Parameter sessionID: whose they are; nil where they are of many.
  func subscribe(
    _ scope: EventScope, of sessionID: SessionID?, _ wish: EventWish
  ) async throws(ServiceError) -> EventSubscription {
    var after = wish.after
    // The client knows events that this store never had: it is told, and starts anew.
    let isLost = after.map { $0 > store.lastSequence } ?? false
    if isLost { after = 0 }
    // Bodies need to know which responses the reader has seen: it starts at a place in the journal, never at "now".
    if wish.wantsData, after == nil { after = store.lastSequence }
    let subscription = EventSubscription(
      scope: scope, of: sessionID, after: after, types: wish.types, wantsProgress: wish.wantsProgress,
      wantsData: wish.wantsData, preamble: Array(": connected\n\n".utf8), isLost: isLost,
      store: store, hub: hub, pool: pool, now: identifiers.now,
      spawn: spawn)
    if wish.wantsData, let after {
      do throws(StoreError) { try await attachBodies(to: subscription, from: after) } catch {
        subscription.close()
        throw .store(error)
      }
    }
    return subscription
  }

  /// Bodies that are under way already, from their first byte on.
  private func attachBodies(to subscription: EventSubscription, from cursor: Int64) async throws(StoreError) {
    let scope = subscription.scope
    let tasks = registry.withLock { registry in
      registry.tasks.values.map(\.task).filter { task in
        task.kind != .download && task.response != nil
          && scope.contains(task: task.id, session: task.sessionID, of: registry.tenant(of: task.sessionID))
      }
    }
    for task in tasks {
      guard let live = engine.liveBody(of: task.id, in: task.sessionID) else { continue }
      let shown = try await responses(of: task.id, upTo: cursor)
      subscription.attach(live, of: task.id, in: task.sessionID, shown: shown)
    }
  }

  /// How many responses of a task the journal tells of up to `cursor`: as many as it has parts that were shown.
  private func responses(of task: TaskID, upTo cursor: Int64) async throws(StoreError) -> Int {
    var count = 0
    var place: Int64 = 0
    while true {
      let page = try await store.journal(.task(task), after: place, maximumBytes: 1 << 20)
      for event in page.fragments.flatMap({ ServerSentEvents.split($0.bytes) })
      where ServerSentEvents.type(of: event) == .dataTaskDidReceiveResponse {
        if let id = ServerSentEvents.id(of: event), id > place, id <= cursor { count += 1 }
      }
      place = page.coveredSequence
      if page.isLast || place >= cursor { return count }
    }
  }
}
