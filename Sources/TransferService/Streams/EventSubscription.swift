internal import DequeModule
internal import EngineAPI
package import EventLoop
package import Ledger
internal import Limits
internal import Synchronization
internal import TransferCore
package import TransferModel

/// A stream of the events of a scope, with its own cursor.
///
/// The stream is `behind` while it reads the journal, and `live` after that. Events that arrive meanwhile are queued. If the
/// queue grows too long, the stream drops it and is `behind` again. All streams share the bytes of queued events; a stream's own
/// memory is about one read.
package final class EventSubscription: Sendable {
  private enum Mode {
    /// The stream reads the journal. `fetching` while a page is being read.
    case behind(fetching: Bool)
    case live
  }
  private struct State {
    var mode: Mode
    /// The last event that was sent, or skipped because it is outside the scope.
    var cursor: Int64
    var queue = Deque<JournalFragment>()
    var queuedBytes = 0
    var hasOverflowed = false
    var ready: [UInt8]
    var readyOffset = 0
    var progress: [TaskID: JournalFragment] = [:]
    var wantsHeartbeat = false
    /// Whether the `retry:` field was sent.
    var hasSaidRetry = false
    var onReadable: (@Sendable () -> Void)?
    var isClosed = false
    /// Whether the reader's cursor is unknown here, so it must receive `events.didReset`.
    var isLost: Bool
    /// The bodies that are sent inline; `nil` unless requested (`?data=inline`).
    var inline: InlineBodies?

    /// Bytes that are ready and not yet read.
    var unread: Int { ready.count - readyOffset }
    /// Whether queued events may be sent. The journal and bodies go first.
    var mayGoOn: Bool {
      if case .live = mode { inline?.hasEvents != true } else { false }
    }
  }

  /// The limit of waiting bytes, ready or queued. Beyond it the stream reads from the journal again.
  static let maximumQueuedBytes = Limits.queuedEventBytes.value
  /// About how many bytes are made ready at a time.
  static let readyBytes = 64 * 1024
  /// The size of one page of the journal. Streams do not share these bytes.
  private static let pageBytes = 64 * 1024
  /// The reconnection time of 2 s for a reader that lost its stream (HTML, server-sent events).
  private static let retry = Array("retry: 2000\n".utf8)
  private static let maximumProgress = Limits.waitingProgress.value

  let scope: EventScope
  /// The session of the scope, or `nil` for all sessions.
  let sessionID: SessionID?
  private let types: Set<EventType>?
  /// The group and the labels of the wanted events, or `nil` for all events.
  private let tags: TaskTags?
  private let wantsProgress: Bool
  /// Whether the stream sends progress. `false` if its types exclude progress.
  var hearsProgress: Bool { wantsProgress && types?.contains(where: \.isProgress) ?? true }

  private let store: any Ledger
  private let hub: EventHub
  private let pool: ThreadPool
  private let now: @Sendable () -> Timestamp
  private let spawn: TaskSpawner
  private let state: Mutex<State>

  /// - Parameters:
  ///   - sessionID: the session of the scope.
  ///   - after: replays the events after this one, or sends only new events if it is `nil`.
  ///   - tags: the group and the labels of the wanted events, or `nil` for all events.
  ///   - wantsData: whether the bytes of data tasks are sent inline.
  ///   - preamble: bytes that are sent first.
  ///   - isLost: whether the reader's cursor is unknown here, so it must receive `events.didReset`.
  ///   - spawn: starts the tasks that read the journal.
  package init(
    scope: EventScope, of sessionID: SessionID? = nil, after: Int64?, types: Set<EventType>?,
    tags: TaskTags? = nil, wantsProgress: Bool, wantsData: Bool = false, preamble: [UInt8],
    isLost: Bool = false,
    store: any Ledger, hub: EventHub, pool: ThreadPool,
    now: @escaping @Sendable () -> Timestamp, spawn: TaskSpawner = TaskSpawner()
  ) {
    self.scope = scope
    self.sessionID = sessionID
    self.types = types
    self.tags = tags
    self.wantsProgress = wantsProgress
    self.store = store
    self.hub = hub
    self.pool = pool
    self.now = now
    self.spawn = spawn
    // Without a replay the stream is live at once: each commit after `add` is offered.
    let mode = after == nil ? Mode.live : .behind(fetching: false)
    state = Mutex(
      State(
        mode: mode, cursor: after ?? 0, ready: preamble, isLost: isLost,
        inline: wantsData ? InlineBodies() : nil))
    hub.add(self)
  }

  /// Calls `onReadable` when `read` may have more bytes. Called from any thread.
  package func start(onReadable: @escaping @Sendable () -> Void) {
    state.withLock { $0.onReadable = onReadable }
    fetchIfNeeded()
  }

  package func close() {
    hub.remove(self)
    state.withLock { state in
      state.isClosed = true
      state.onReadable = nil
      state.queue = []
      state.inline?.close()
    }
  }

  /// Attaches the body of a task's response.
  /// - Parameter shown: the number of the task's responses before the reader's cursor.
  func attach(_ live: LiveBody, of task: TaskID, in session: SessionID, _ tags: TaskTags?, shown: Int = 0) {
    guard selects(tags) else { return }
    state.withLock { state in
      guard !state.isClosed, state.inline != nil else { return }
      state.inline?.attach(live, of: task, in: session, pool: pool, shown: shown) { [weak self] in
        let onReadable = self?.state.withLock { $0.onReadable }
        onReadable?()
      }
    }
  }

  /// - Returns: the next bytes of the stream, at most `maximum`, or `nil` if there are none now.
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

  /// The bytes that wait for the reader: its own, and queued bytes that streams may share.
  var waiting: (own: Int, shared: Int) { state.withLock { ($0.ready.count, $0.queuedBytes) } }

  /// Makes about `wanted` bytes ready: first durable events, then progress, then a heartbeat.
  private func refill(_ state: inout State, _ wanted: Int) {
    let (now, types) = (now, types)
    repeat {
      if state.mayGoOn { takeFromQueue(wanted, &state) }
      var inline: [UInt8] = []
      state.inline?.fill(&inline, at: now, wanted: types)
      write(out: inline, &state)
      // The filter for types may have dropped all events that the bodies let through.
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
    // An empty queue releases its memory.
    if state.queue.isEmpty { state.queue = [] }
  }

  private func enqueue(_ fragment: JournalFragment, _ state: inout State) {
    state.queue.append(fragment)
    state.queuedBytes += size(of: fragment)
  }

  /// The bytes of a fragment that may concern the reader.
  private func size(of fragment: JournalFragment) -> Int {
    wantsProgress ? fragment.bytesWithProgress.count : fragment.bytes.count
  }

  /// Appends whole events. The first event carries the `retry:` field, because parsers report a block with nothing else as an
  /// empty event.
  private func write(out events: [UInt8], _ state: inout State) {
    guard !events.isEmpty else { return }
    if !state.hasSaidRetry { state.ready += Self.retry }
    state.hasSaidRetry = true
    // A whole fragment stays shared.
    if state.ready.isEmpty { state.ready = events } else { state.ready += events }
  }

  private func append(_ fragment: JournalFragment, _ state: inout State) {
    if fragment.isProgressOnly, let task = fragment.taskID {
      return append(progress: fragment.bytesWithProgress, of: task, &state)
    }
    let cursor = InjectedFault.forgetsItsPlace.isPresent ? 0 : state.cursor
    guard fragment.last > cursor else { return }
    let bytes = wantsProgress ? fragment.bytesWithProgress : fragment.bytes
    // Bodies have places between events that the reader may not have requested, so `InlineBodies` filters later.
    let types = state.inline == nil ? types : nil
    let isWhole = types == nil && fragment.first > cursor
    let wanted = isWhole ? bytes : ServerSentEvents.filter(bytes, after: state.cursor, types: types)
    state.cursor = fragment.last
    if state.inline == nil {
      write(out: wanted, &state)
    } else {
      state.inline?.add(wanted, of: fragment.taskID)
    }
  }

  /// Writes `events.didReset`: events after the reader's cursor are missing. `InlineBodies` has no waiting events at that time.
  private func appendReset(oldest: Int64, _ state: inout State) {
    var writer = ServerSentEventWriter()
    writer.append(
      event: TransferEvent(
        .eventsDidReset, at: now(), session: sessionID ?? .shared, .reset(oldest: oldest)),
      sequence: nil, isOfAll: sessionID == nil)
    write(out: writer.bytes, &state)
    state.isLost = false
  }

  private func append(progress bytes: [UInt8], of task: TaskID, _ state: inout State) {
    if state.inline == nil {
      write(out: bytes, &state)
    } else {
      state.inline?.add(bytes, of: task)
    }
  }

  /// Returns whether the stream wants the events of a task, or of a group.
  private func selects(_ found: TaskTags?) -> Bool { tags?.select(found) ?? true }

  // MARK: New events

  func offer(_ fragment: JournalFragment) {
    guard selects(fragment.tags) else { return }
    if fragment.isProgressOnly, let task = fragment.taskID { return offerProgress(fragment, of: task) }
    let onReadable: (@Sendable () -> Void)? = state.withLock { state in
      guard !state.isClosed, !state.hasOverflowed else { return nil }
      if let task = fragment.taskID, let waiting = state.progress.removeValue(forKey: task) {
        // The progress is older than this event, so it must be sent first.
        enqueue(waiting, &state)
      }
      if state.ready.count + state.queuedBytes + size(of: fragment) > Self.maximumQueuedBytes {
        Self.dropQueue(before: fragment.first, &state)
        return state.onReadable
      }
      enqueue(fragment, &state)
      if case .live = state.mode { return state.onReadable }
      return nil
    }
    onReadable?()
  }

  /// Makes the stream read from the journal, because a commit was too large to offer.
  func switchToJournal(after sequence: Int64) {
    let onReadable: (@Sendable () -> Void)? = state.withLock { state in
      guard !state.isClosed, !state.hasOverflowed else { return nil }
      Self.dropQueue(before: sequence + 1, &state)
      return state.onReadable
    }
    onReadable?()
  }

  /// Drops the queue; the journal is read instead.
  /// - Parameter next: the number of the event that would have been offered now.
  private static func dropQueue(before next: Int64, _ state: inout State) {
    let firstDropped = state.queue.first { !$0.isProgressOnly }?.first
    state.queue = []
    state.queuedBytes = 0
    // The progress would be sent after newer events.
    state.progress.removeAll()
    if case .live = state.mode {
      // The dropped events follow the cursor. If nothing was queued, the event to be offered follows it.
      state.cursor = max(state.cursor, (firstDropped ?? next) - 1)
      state.mode = .behind(fetching: false)
    } else {
      state.hasOverflowed = true
    }
  }

  /// Keeps one fragment of progress per task for a slow reader. Merged events carry the sum of their growth.
  private func offerProgress(_ fragment: JournalFragment, of task: TaskID) {
    guard wantsProgress else { return }
    let fragment = types.map(fragment.progress) ?? fragment
    guard !fragment.bytesWithProgress.isEmpty else { return }
    let onReadable: (@Sendable () -> Void)? = state.withLock { state in
      guard case .live = state.mode, !state.isClosed else { return nil }
      let waiting = state.progress[task]
      guard waiting != nil || state.progress.count < Self.maximumProgress else { return nil }
      state.progress[task] = waiting.map(fragment.merging(earlier:)) ?? fragment
      return state.onReadable
    }
    onReadable?()
  }

  func offerHeartbeat() {
    let onReadable = state.withLock { state in
      state.wantsHeartbeat = true
      return state.onReadable
    }
    onReadable?()
  }

  // MARK: Reading the journal

  private func fetchIfNeeded() {
    let cursor: Int64? = state.withLock { state in
      guard case .behind(fetching: false) = state.mode, !state.isClosed, state.onReadable != nil else {
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
    do throws(LedgerError) {
      page = try await store.journal(scope, after: cursor, maximumBytes: Self.pageBytes)
    } catch {
      // The journal cannot be read now. The next read or heartbeat tries again.
      state.withLock { $0.mode = .behind(fetching: false) }
      return
    }
    let onReadable = state.withLock { state in
      if state.isLost || page.pruned.affects(from: scope, after: cursor) {
        appendReset(oldest: page.oldest, &state)
      }
      // Releases bytes that were read, and reserves only what the page needs.
      state.ready.removeFirst(state.readyOffset)
      state.readyOffset = 0
      if state.inline == nil {
        state.ready.reserveCapacity(state.ready.count + page.fragments.reduce(0) { $0 + size(of: $1) })
      }
      for fragment in page.fragments where selects(fragment.tags) { append(fragment, &state) }
      state.cursor = max(state.cursor, page.coveredSequence)
      state.mode = page.isLast && !state.hasOverflowed ? .live : .behind(fetching: false)
      state.hasOverflowed = false
      return state.onReadable
    }
    onReadable?()
    fetchIfNeeded()
  }
}
