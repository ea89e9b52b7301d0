internal import DequeModule
internal import EngineAPI
package import EventLoop
package import Ledger
internal import Limits
internal import Synchronization
internal import TransferCore
package import TransferModel

/// One reader of the events of a scope, at its own cursor.
///
/// It is behind while it reads the journal, and live once that is exhausted; news that come meanwhile are queued, and
/// where the queue grows too long it is dropped and the reader is behind again. All readers share the bytes of what is queued:
/// of its own, one has about what a read of it takes.
package final class EventSubscription: Sendable {
  private enum Mode {
    /// Reading the journal; `fetching` while a page is on its way.
    case behind(fetching: Bool)
    case live
  }
  private struct State {
    var mode: Mode
    /// Everything up to here was handed out or does not belong to the scope.
    var cursor: Int64
    var queue = Deque<JournalFragment>()
    var queuedBytes = 0
    var hasOverflowed = false
    var ready: [UInt8]
    var readyOffset = 0
    var progress: [TaskID: JournalFragment] = [:]
    var wantsHeartbeat = false
    /// Whether the reader knows when to come again.
    var hasSaidRetry = false
    var onNews: (@Sendable () -> Void)?
    var isClosed = false
    /// The reader's place is none: it is to be told.
    var isLost: Bool
    /// Where bodies are wanted inline.
    var inline: InlineBodies?

    /// Bytes that were made ready and not read.
    var unread: Int { ready.count - readyOffset }
    /// What is queued may go on: neither the journal nor bodies go before it.
    var mayGoOn: Bool {
      if case .live = mode { inline?.hasEvents != true } else { false }
    }
  }

  /// Bytes that wait for a reader, ready or queued, before it has to go back to the journal.
  static let maximumQueuedBytes = Limits.queuedEventBytes.value
  /// About as many are made ready at a time.
  static let readyBytes = 64 * 1024
  /// Of the journal at a time: no other reader shares them.
  private static let pageBytes = 64 * 1024
  /// After so many milliseconds a reader that lost its stream asks again (HTML, server-sent events).
  private static let retry = Array("retry: 2000\n".utf8)
  private static let maximumProgress = Limits.waitingProgress.value

  let scope: EventScope
  /// The session that the scope is of; nil where it is all of them.
  let sessionID: SessionID?
  private let types: Set<EventType>?
  private let wantsProgress: Bool
  /// False where progress would be filtered out in any case.
  var hearsProgress: Bool { wantsProgress && types?.contains(where: \.isProgress) ?? true }

  private let store: any Ledger
  private let hub: EventHub
  private let pool: WorkerPool
  private let now: @Sendable () -> Timestamp
  private let spawn: Spawn
  private let state: Mutex<State>

  /// - Parameters:
  ///   - sessionID: the session that the scope is of.
  ///   - after: replays what came after it; nil: only what comes from now on.
  ///   - wantsData: data tasks' bytes come along.
  ///   - preamble: bytes that go out first.
  ///   - spawn: how it reads the journal beside whoever asks.
  ///   - isLost: the reader comes with a place that is none, and is told where it starts instead.
  package init(
    scope: EventScope, of sessionID: SessionID? = nil, after: Int64?, types: Set<EventType>?,
    wantsProgress: Bool, wantsData: Bool = false, preamble: [UInt8], isLost: Bool = false,
    store: any Ledger, hub: EventHub, pool: WorkerPool,
    now: @escaping @Sendable () -> Timestamp, spawn: Spawn = Spawn()
  ) {
    self.scope = scope
    self.sessionID = sessionID
    self.types = types
    self.wantsProgress = wantsProgress
    self.store = store
    self.hub = hub
    self.pool = pool
    self.now = now
    self.spawn = spawn
    // Without a replay there is nothing to read up: whatever commits after `add` is offered.
    let mode = after == nil ? Mode.live : .behind(fetching: false)
    state = Mutex(
      State(
        mode: mode, cursor: after ?? 0, ready: preamble, isLost: isLost,
        inline: wantsData ? InlineBodies() : nil))
    hub.add(self)
  }

  /// Calls `onNews` whenever `read` may have more. From any thread.
  package func start(onNews: @escaping @Sendable () -> Void) {
    state.withLock { $0.onNews = onNews }
    fetchIfNeeded()
  }

  package func close() {
    hub.remove(self)
    state.withLock { state in
      state.isClosed = true
      state.onNews = nil
      state.queue = []
      state.inline?.close()
    }
  }

  /// The body of a task's answer has begun, or was under way when the reader came.
  /// - Parameter shown: responses of the task that came before the reader's place.
  func attach(_ live: LiveBody, of task: TaskID, in session: SessionID, shown: Int = 0) {
    state.withLock { state in
      guard !state.isClosed, state.inline != nil else { return }
      state.inline?.attach(live, of: task, in: session, pool: pool, shown: shown) { [weak self] in
        let onNews = self?.state.withLock { $0.onNews }
        onNews?()
      }
    }
  }

  /// The next bytes of the stream, at most `maximum`; nil where there are none now.
  package func read(maximum: Int) -> [UInt8]? {
    let bytes: [UInt8]? = state.withLock { state in
      if state.unread == 0 { refill(&state, min(maximum, Self.readyBytes)) }
      guard state.unread > 0 else { return nil }
      let end = min(state.ready.count, state.readyOffset + maximum)
      let isWhole = state.readyOffset == 0 && end == state.ready.count
      let bytes = isWhole ? state.ready : Array(state.ready[state.readyOffset..<end])
      state.readyOffset = end
      if state.unread == 0 { (state.ready, state.readyOffset) = ([], 0) }
      return bytes
    }
    fetchIfNeeded()
    return bytes
  }

  /// Bytes that wait for the reader: its own, and those that others may share.
  var waiting: (own: Int, shared: Int) { state.withLock { ($0.ready.count, $0.queuedBytes) } }

  /// Moves what waits into the outgoing bytes, until there are about as many as are wanted: durable events first, then progress,
  /// then a sign of life.
  private func refill(_ state: inout State, _ wanted: Int) {
    let (now, types) = (now, types)
    repeat {
      if state.mayGoOn { takeFromQueue(wanted, &state) }
      var inline: [UInt8] = []
      state.inline?.fill(&inline, at: now, wanted: types)
      hand(out: inline, &state)
      // Nothing of what went to the bodies may have been asked for.
    } while state.ready.isEmpty && state.mayGoOn && !state.queue.isEmpty
    if state.wantsHeartbeat, state.ready.isEmpty { state.ready = Array(": heartbeat\n\n".utf8) }
    state.wantsHeartbeat = false
  }

  private func takeFromQueue(_ wanted: Int, _ state: inout State) {
    var ofBodies = 0
    while state.ready.count + ofBodies < wanted {
      if state.queue.isEmpty {
        for fragment in state.progress.values { enqueue(fragment, &state) }
        state.progress.removeAll()
      }
      guard let fragment = state.queue.popFirst() else { break }
      state.queuedBytes -= size(of: fragment)
      if state.inline != nil { ofBodies += size(of: fragment) }
      append(fragment, &state)
    }
    // It has grown to the most that ever waited.
    if state.queue.isEmpty { state.queue = [] }
  }

  private func enqueue(_ fragment: JournalFragment, _ state: inout State) {
    state.queue.append(fragment)
    state.queuedBytes += size(of: fragment)
  }

  /// Bytes of it that may concern the reader.
  private func size(of fragment: JournalFragment) -> Int {
    wantsProgress ? fragment.bytesWithProgress.count : fragment.bytes.count
  }

  /// Whole events, the first of them with the field that says when to come again: parsers make an empty event of a block that has
  /// nothing else.
  private func hand(out events: [UInt8], _ state: inout State) {
    guard !events.isEmpty else { return }
    if !state.hasSaidRetry { state.ready += Self.retry }
    state.hasSaidRetry = true
    // The whole of a fragment stays shared.
    if state.ready.isEmpty { state.ready = events } else { state.ready += events }
  }

  private func append(_ fragment: JournalFragment, _ state: inout State) {
    if fragment.isProgressOnly, let task = fragment.taskID {
      return append(progress: fragment.bytesWithProgress, of: task, &state)
    }
    let cursor = Flaw.forgetsItsPlace.isPresent ? 0 : state.cursor
    guard fragment.last > cursor else { return }
    let bytes = wantsProgress ? fragment.bytesWithProgress : fragment.bytes
    // Bodies have their places between events that the reader may not have asked for: those are left out later.
    let types = state.inline == nil ? types : nil
    let isWhole = types == nil && fragment.first > cursor
    let wanted = isWhole ? bytes : ServerSentEvents.filter(bytes, after: state.cursor, types: types)
    state.cursor = fragment.last
    if state.inline == nil {
      hand(out: wanted, &state)
    } else {
      state.inline?.add(wanted, of: fragment.taskID)
    }
  }

  /// What comes next is not what comes after the reader's place. Nothing waits for inline bodies then: a page was asked for.
  private func appendReset(oldest: Int64, _ state: inout State) {
    var writer = ServerSentEventWriter()
    writer.append(
      event: TransferEvent(
        .eventsDidReset, at: now(), session: sessionID ?? .shared, .reset(oldest: oldest)),
      sequence: nil, isOfAll: sessionID == nil)
    hand(out: writer.bytes, &state)
    state.isLost = false
  }

  private func append(progress bytes: [UInt8], of task: TaskID, _ state: inout State) {
    if state.inline == nil {
      hand(out: bytes, &state)
    } else {
      state.inline?.add(bytes, of: task)
    }
  }

  // MARK: News

  func offer(_ fragment: JournalFragment) {
    if fragment.isProgressOnly, let task = fragment.taskID { return offerProgress(fragment, of: task) }
    let onNews: (@Sendable () -> Void)? = state.withLock { state in
      guard !state.isClosed, !state.hasOverflowed else { return nil }
      if let task = fragment.taskID, let waiting = state.progress.removeValue(forKey: task) {
        // It was told before this; what is durable must not overtake it.
        enqueue(waiting, &state)
      }
      if state.ready.count + state.queuedBytes + size(of: fragment) > Self.maximumQueuedBytes {
        Self.loseQueue(before: fragment.first, &state)
        return state.onNews
      }
      enqueue(fragment, &state)
      if case .live = state.mode { return state.onNews }
      return nil
    }
    onNews?()
  }

  /// More has happened after this than is worth offering: it stands in the journal.
  func fallBehind(after sequence: Int64) {
    let onNews: (@Sendable () -> Void)? = state.withLock { state in
      guard !state.isClosed, !state.hasOverflowed else { return nil }
      Self.loseQueue(before: sequence + 1, &state)
      return state.onNews
    }
    onNews?()
  }

  /// What waits is dropped, and read from the journal again.
  /// - Parameter next: the number of what would have been offered now.
  private static func loseQueue(before next: Int64, _ state: inout State) {
    let firstDropped = state.queue.first { !$0.isProgressOnly }?.first
    state.queue = []
    state.queuedBytes = 0
    // It would come behind what was told after it.
    state.progress.removeAll()
    if case .live = state.mode {
      // What was queued and dropped came after the cursor, or, before anything was read, right here.
      state.cursor = max(state.cursor, (firstDropped ?? next) - 1)
      state.mode = .behind(fetching: false)
    } else {
      state.hasOverflowed = true
    }
  }

  /// A slow reader gets one fragment per task. Its events carry the growth of all that were merged.
  private func offerProgress(_ fragment: JournalFragment, of task: TaskID) {
    guard wantsProgress else { return }
    let fragment = types.map(fragment.progress) ?? fragment
    guard !fragment.bytesWithProgress.isEmpty else { return }
    let onNews: (@Sendable () -> Void)? = state.withLock { state in
      guard case .live = state.mode, !state.isClosed else { return nil }
      let waiting = state.progress[task]
      guard waiting != nil || state.progress.count < Self.maximumProgress else { return nil }
      state.progress[task] = waiting.map(fragment.merging(earlier:)) ?? fragment
      return state.onNews
    }
    onNews?()
  }

  func offerHeartbeat() {
    let onNews = state.withLock { state in
      state.wantsHeartbeat = true
      return state.onNews
    }
    onNews?()
  }

  // MARK: Catching up

  private func fetchIfNeeded() {
    let cursor: Int64? = state.withLock { state in
      guard case .behind(fetching: false) = state.mode, !state.isClosed, state.onNews != nil else {
        return nil
      }
      guard state.unread < Self.readyBytes, state.inline?.hasEvents != true else { return nil }
      state.mode = .behind(fetching: true)
      return state.cursor
    }
    guard let cursor else { return }
    spawn { [self] in await fetch(after: cursor) }
  }

  private func fetch(after cursor: Int64) async {
    let page: JournalPage
    do throws(StoreError) {
      page = try await store.journal(scope, after: cursor, maximumBytes: Self.pageBytes)
    } catch {
      // The journal cannot be read now: tried again when the reader asks, or with the next sign of life.
      state.withLock { $0.mode = .behind(fetching: false) }
      return
    }
    let onNews = state.withLock { state in
      if state.isLost || page.pruned.mayHaveTaken(from: scope, after: cursor) {
        appendReset(oldest: page.oldest, &state)
      }
      // What was read goes, and no more room is taken than the page needs.
      state.ready.removeFirst(state.readyOffset)
      state.readyOffset = 0
      if state.inline == nil {
        state.ready.reserveCapacity(state.ready.count + page.fragments.reduce(0) { $0 + size(of: $1) })
      }
      for fragment in page.fragments { append(fragment, &state) }
      state.cursor = max(state.cursor, page.coveredSequence)
      state.mode = page.isLast && !state.hasOverflowed ? .live : .behind(fetching: false)
      state.hasOverflowed = false
      return state.onNews
    }
    onNews?()
    fetchIfNeeded()
  }
}
