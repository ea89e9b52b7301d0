internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Opens event streams, which begin in the journal.
struct EventStreams: Sendable {
  let runtime: SessionRuntime
  let now: @Sendable () -> Timestamp
  /// Starts the tasks that read the journal.
  let spawn: TaskSpawner

  private var store: any Ledger { runtime.recorder.store }

  /// Opens a stream of the events of `scope`.
  /// - Parameter sessionID: the session of these events, or `nil` for events of many sessions.
  func subscribe(
    _ scope: EventScope, of sessionID: SessionID?, _ filter: EventFilter
  ) async throws(ServiceError) -> EventSubscription {
    var (after, isLost) = try await start(filter.after)
    // For bodies the stream must know which responses the reader has seen, so it starts at a known place in the journal.
    if filter.wantsData, after == nil { after = store.lastSequence }
    let subscription = EventSubscription(
      scope: scope, of: sessionID, after: after, types: filter.types, tags: filter.tags,
      wantsProgress: filter.wantsProgress, wantsData: filter.wantsData,
      preamble: Array(": connected\n\n".utf8), isLost: isLost,
      store: store, hub: runtime.hub, pool: runtime.pool, now: now, spawn: spawn)
    if filter.wantsData, let after {
      do throws(LedgerError) { try await attachBodies(to: subscription, from: after) } catch {
        subscription.close()
        throw .store(error)
      }
    }
    return subscription
  }

  /// Returns the place from which a client that has read up to `after` continues. If that is beyond this ledger, the client receives
  /// `events.didReset` and starts from the beginning.
  func start(_ after: Int64?) async throws(ServiceError) -> (after: Int64?, isLost: Bool) {
    // The commit first reads what other processes have committed.
    if let after, after > store.highestSequence { try await runtime.recorder.flush() }
    let isLost = after.map { $0 > store.highestSequence } ?? false
    return (isLost ? 0 : after, isLost)
  }

  /// Returns the JSON text of `events.didReset`.
  /// - Parameter sessionID: the session of the events, or `nil` for events of many sessions.
  func reset(of sessionID: SessionID?, oldest: Int64) -> [UInt8] {
    var writer = ServerSentEventWriter()
    writer.append(
      event: TransferEvent(.eventsDidReset, at: now(), session: sessionID ?? .shared, .reset(oldest: oldest)),
      sequence: nil, isOfAll: sessionID == nil)
    return Array(ServerSentEvents.data(of: writer.bytes[...]))
  }

  /// Attaches the bodies that are arriving now, from their first byte.
  private func attachBodies(to subscription: EventSubscription, from cursor: Int64) async throws(LedgerError)
  {
    for task in tasks(in: subscription.scope) where task.kind != .download && task.response != nil {
      guard let live = runtime.engine.liveBody(of: task.id, in: task.sessionID) else { continue }
      let shown = try await responses(of: task.id, upTo: cursor)
      subscription.attach(live, of: task.id, in: task.sessionID, task.tags, shown: shown)
    }
  }

  /// The unfinished tasks in a scope, without evicted tasks, which have no arriving body.
  private func tasks(in scope: EventScope) -> [TransferTask] {
    switch scope {
    case .task(let task): return runtime.task(task).map { [$0.task] } ?? []
    case .session(let session): return runtime.read(at: session) { $0.residentTasks } ?? []
    case .tenant(let tenant):
      return runtime.sessions().filter { $0.tenant == tenant }.flatMap { session in
        runtime.read(at: session.id) { $0.residentTasks } ?? []
      }
    }
  }

  /// Returns how many responses of a task the journal has up to `cursor`. The stream has shown as many parts of the body.
  private func responses(of task: TaskID, upTo cursor: Int64) async throws(LedgerError) -> Int {
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
