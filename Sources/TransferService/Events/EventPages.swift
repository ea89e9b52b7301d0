internal import EventLoop
internal import Ledger
internal import Limits
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// A page of events, for clients that poll.
package struct EventPage: Sendable {
  /// The JSON text of each event.
  package var items: [[UInt8]] = []
  /// The number of the last event that the page covers, from which the next page continues.
  package var nextAfter: Int64
}

/// Pages of the journal, for clients that poll.
struct EventPages: Sendable {
  /// The bytes of the journal that are read at once.
  private static let bytesAtOnce = 256 * 1024

  let streams: EventStreams

  private var runtime: SessionRuntime { streams.runtime }
  private var store: any Ledger { runtime.recorder.store }

  /// Returns at most `limit` events after `filter.after`, or after the newest event if that is `nil`.
  /// - Parameters:
  ///   - sessionID: the session of the scope, or `nil` for all sessions.
  ///   - seconds: how long to wait for the first event; `nil` not to wait.
  func page(
    _ scope: EventScope, of sessionID: SessionID?, _ filter: EventFilter, limit: Int, waiting seconds: Double?
  ) async throws(ServiceError) -> EventPage {
    var filter = filter
    (filter.wantsProgress, filter.wantsData) = (false, false)
    let start = try await streams.start(filter.after)
    filter.after = start.after ?? store.lastSequence
    var page = try await read(scope, of: sessionID, filter, limit: limit, isLost: start.isLost)
    guard page.items.isEmpty, let seconds, seconds > 0 else { return page }
    filter.after = page.nextAfter
    try await waitForEvent(scope, of: sessionID, filter, seconds)
    page = try await read(scope, of: sessionID, filter, limit: limit, isLost: false)
    return page
  }

  private func read(
    _ scope: EventScope, of sessionID: SessionID?, _ filter: EventFilter, limit: Int, isLost: Bool
  ) async throws(ServiceError) -> EventPage {
    var page = EventPage(nextAfter: filter.after ?? 0)
    var isFirst = true
    var bytes = 0
    while true {
      let rows: JournalPage
      do throws(LedgerError) {
        rows = try await store.journal(scope, after: page.nextAfter, maximumBytes: Self.bytesAtOnce)
      } catch {
        throw .store(error)
      }
      if isFirst, isLost || rows.pruned.affects(from: scope, after: page.nextAfter) {
        page.items.append(streams.reset(of: sessionID, oldest: rows.oldest))
      }
      isFirst = false
      for fragment in rows.fragments where filter.tags?.select(fragment.tags) ?? true {
        for event in ServerSentEvents.split(fragment.bytes) {
          guard let id = ServerSentEvents.id(of: event), id > page.nextAfter else { continue }
          guard page.items.count < limit, bytes < Limits.pageBytes.value else { return page }
          page.nextAfter = id
          if filter.types.map({ types in ServerSentEvents.type(of: event).map(types.contains) ?? false })
            ?? true
          {
            let item = Array(ServerSentEvents.data(of: event))
            bytes += item.count
            page.items.append(item)
          }
        }
      }
      page.nextAfter = max(page.nextAfter, rows.coveredSequence)
      // A page without wanted events continues, so that a filter for rare types finds them.
      if rows.isLast || page.items.count >= limit || bytes >= Limits.pageBytes.value { return page }
    }
  }

  /// Returns after the next stored event that the filter wants, or after `seconds`. It also returns when the service begins to stop.
  func waitForEvent(
    _ scope: EventScope, of sessionID: SessionID?, _ filter: EventFilter, _ seconds: Double
  ) async throws(ServiceError) {
    let waiter = Waiter()
    guard let ticket = runtime.waiters.add(waiter, for: nil, isPatient: true) else { return }
    defer { _ = runtime.waiters.remove(ticket) }
    let subscription = try await streams.subscribe(scope, of: sessionID, filter)
    defer { subscription.close() }
    runtime.deadlines.add(.wait(ticket), after: seconds)
    defer { runtime.deadlines.remove(.wait(ticket)) }
    let reader = EventDetector(subscription)
    subscription.start { if reader.hasEvent() { waiter.resume() } }
    if reader.hasEvent() { waiter.resume() }
    await waiter.wait()
  }
}

/// Detects the first event of a stream, which begins with the field `retry`. Comments, such as heartbeats, are not events.
private final class EventDetector: Sendable {
  private let subscription: EventSubscription
  private let unread = Mutex([UInt8]())

  init(_ subscription: EventSubscription) { self.subscription = subscription }

  func hasEvent() -> Bool {
    unread.withLock { unread in
      while let bytes = subscription.read(maximum: EventSubscription.readyBytes) { unread += bytes }
      return ServerSentEvents.split(unread).contains { !ServerSentEvents.data(of: $0).isEmpty }
    }
  }
}
