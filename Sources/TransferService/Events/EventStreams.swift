internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Streams of events, from the journal on.
struct EventStreams: Sendable {
  let room: MachineRoom
  let now: @Sendable () -> Timestamp
  /// How a stream reads the journal beside whoever asks.
  let spawn: Spawn

  private var store: any Ledger { room.recorder.store }

  /// A stream of the events of `scope`.
  /// - Parameter sessionID: whose they are; nil where they are of many.
  func subscribe(
    _ scope: EventScope, of sessionID: SessionID?, _ wish: EventWish
  ) async throws(ServiceError) -> EventSubscription {
    var after = wish.after
    // The client knows events that this store never had: it is told, and starts anew.
    // A commit learns of what other processes have committed before it.
    if let after, after > store.highestSequence { try await room.recorder.settle() }
    let isLost = after.map { $0 > store.highestSequence } ?? false
    if isLost { after = 0 }
    // Bodies need to know which responses the reader has seen: it starts at a place in the journal, never at "now".
    if wish.wantsData, after == nil { after = store.lastSequence }
    let subscription = EventSubscription(
      scope: scope, of: sessionID, after: after, types: wish.types, wantsProgress: wish.wantsProgress,
      wantsData: wish.wantsData, preamble: Array(": connected\n\n".utf8), isLost: isLost,
      store: store, hub: room.hub, pool: room.pool, now: now, spawn: spawn)
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
    for task in tasks(in: subscription.scope) where task.kind != .download && task.response != nil {
      guard let live = room.engine.liveBody(of: task.id, in: task.sessionID) else { continue }
      let shown = try await responses(of: task.id, upTo: cursor)
      subscription.attach(live, of: task.id, in: task.sessionID, shown: shown)
    }
  }

  /// The unfinished tasks whose events are told in a scope, but for those that are evicted: they have no body that is under way.
  private func tasks(in scope: EventScope) -> [TransferTask] {
    switch scope {
    case .task(let task): return room.task(task).map { [$0.task] } ?? []
    case .session(let session): return room.look(at: session) { $0.residentTasks } ?? []
    case .tenant(let tenant):
      return room.sessions().filter { $0.tenant == tenant }.flatMap { session in
        room.look(at: session.id) { $0.residentTasks } ?? []
      }
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
