internal import Cluster
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import Logging
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Reads the worker's reports and gives them to the sessions' machines. The commits of their effects delete the reports.
final class WorkerReportReader: Sendable {
  /// Reports that are read at one time. The next page is read after this one is committed, so that other commits wait for at most
  /// one page.
  static let page = 250

  /// The shard whose owner handles reports about no session.
  static let shardOfGeneralReports = Shard(0)

  private let runtime: SessionRuntime
  private let logger: Logger
  private let reader: QueueReader<String>
  /// The unreadable reports, and the number of documents that the worker cannot read.
  private let refused = Mutex((news: UndecodableDocuments(), byWorker: 0))
  /// The shards whose reports have been read from the beginning. Reports about other shards wait, to keep their order.
  private let heard: ActiveShards
  /// Whether the reports from before this service's start have been read. Earlier wake-ups are ignored.
  private let hasCaughtUp = Mutex(false)

  init(runtime: SessionRuntime, spawn: TaskSpawner, logger: Logger) {
    self.runtime = runtime
    self.logger = logger
    let heard = ActiveShards()
    self.heard = heard
    let store = runtime.recorder.store
    let pages = LateBoundCallback<Page>()
    reader = QueueReader(spawn) { (number: Int64) async throws(LedgerError) in
      try await store.workerReports(after: number, limit: Self.page)
    } take: { (rows) async throws(LedgerError) in
      var own = rows
      let isWanted = heard.shards
      if !runtime.cluster.isSingleNode || isWanted != .all {
        let sessions = try await Self.sessions(of: rows, runtime)
        // Reports of a shard that is being handed over stay in the ledger. If the handover is cancelled, they must be read again.
        own = zip(rows, sessions).filter { _, session in
          isWanted.contains(session.shard) && runtime.cluster.holds(session.shard)
        }.map(\.0)
      }
      guard !own.isEmpty else { return }
      let page = own
      let left = await withCheckedContinuation { continuation in
        pages.deliver(Page(rows: page) { continuation.resume(returning: $0) })
      }
      if !left.isEmpty { try await Self.deleteOrphaned(rows.filter { left.contains($0.number) }, runtime) }
    }
    pages.connect { [weak self] page in
      guard let self else { return page.written([]) }
      handle(page)
    }
  }

  /// Deletes reports about tasks that no longer exist. The ledger refuses that if another service owns the session.
  private static func deleteOrphaned(_ rows: [QueueRow<String>], _ runtime: SessionRuntime)
    async throws(LedgerError)
  {
    let sessions = try await sessions(of: rows, runtime)
    let groups = Dictionary(grouping: zip(rows, sessions), by: \.1).sorted { $0.key < $1.key }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let left = CompletionCounter(from: groups.count) { continuation.resume() }
      for (session, rows) in groups {
        var change = LedgerChange()
        change.owner = session
        change.consumedReports = rows.map(\.0.number).sorted().ranges
        runtime.recorder.record(change) { _ in left.count() }
      }
    }
  }

  /// Returns the session of each row. Rows about no session belong to the common shard.
  private static func sessions(
    of rows: [QueueRow<String>], _ runtime: SessionRuntime
  ) async throws(LedgerError) -> [SessionID] {
    let subjects = rows.map { DocumentSubject(ofDocument: $0.content) }
    let unknown = subjects.compactMap { $0?.task }.filter { runtime.directory[$0] == nil }
    let tasks = Dictionary(
      try await runtime.recorder.store.tasks(unknown).map { ($0.id, $0.sessionID) }, uniquingKeysWith: { $1 })
    return subjects.map { subject in
      guard let subject else { return SessionID(high: 0, low: 0).inShard(shardOfGeneralReports) }
      return runtime.directory[subject.task] ?? tasks[subject.task] ?? subject.session
    }
  }

  private final class ActiveShards: Sendable {
    private let state = Mutex(ShardSet())
    var shards: ShardSet { state.withLock { $0 } }
    func add(_ shards: ShardSet) { state.withLock { $0 = $0.union(shards) } }
    func remove(_ shards: ShardSet) { state.withLock { $0 = $0.subtracting(shards) } }
  }

  private struct Page: Sendable {
    let rows: [QueueRow<String>]
    /// Called after all commits, with the numbers of the reports to delete.
    let written: @Sendable (Set<Int64>) -> Void
  }

  /// Reads new reports, if `catchUp` was called.
  func poll() {
    if hasCaughtUp.withLock({ $0 }) { reader.poll() }
  }

  /// Stops reading reports about these shards, whose sessions have just arrived.
  func stopReading(_ shards: ShardSet) { heard.remove(shards) }

  /// Starts reading reports about these shards.
  /// - Parameter readsAll: whether to read all waiting reports again, from the beginning.
  func startReading(_ shards: ShardSet, readsAll: Bool) async throws(LedgerError) {
    guard readsAll else { return heard.add(shards) }
    let last = try await runtime.recorder.store.lastWorkerReport() ?? 0
    try await reader.readAllAgain(through: last) { heard.add(shards) }
  }

  /// Reads reports at each wake-up from now on.
  func catchUp() {
    hasCaughtUp.withLock { $0 = true }
    poll()
  }

  private func handle(_ page: Page) {
    let found = page.rows.map {
      UndecodableDocuments.Decoded<WorkerReport>(.init(number: $0.number, document: $0.content))
    }
    let store = runtime.recorder.store
    let told = refused.withLock { $0.news.read(found, where: store.unreadable.isDamaged) }
    logger.note(told, "worker reports")
    var facts: [(number: Int64, fact: TransferFact)] = []
    var others = Set(page.rows.map(\.number).filter { number in told.taken.contains { $0.contains(number) } })
    for (row, value) in told.values {
      switch value {
      case .fact(let fact):
        facts.append((row.number, fact))
        others.remove(row.number)
      case .changedCookies(let session, let changes):
        runtime.engine.storages.update(session) { [engine = runtime.engine] in
          engine.cookies.apply(changes, to: session)
        }
      case .refused(let count): recordWorkerUndecodable(count)
      }
    }
    let rest = Mutex(others)
    let left = CompletionCounter(from: 2) { page.written(rest.withLock { $0 }) }
    let unwanted = runtime.handle(facts) { left.count() }
    rest.withLock { $0.formUnion(unwanted) }
    left.count()
  }

  // MARK: Unreadable documents

  /// The number of unreadable documents of another version in the queues.
  var refusedDocuments: Int { refused.withLock { $0.news.count + $0.byWorker } }

  /// The tasks with unreadable reports.
  var refusedTasks: [TaskID] { refused.withLock { $0.news.subjects.map(\.subject.task) } }

  func recordWorkerUndecodable(_ count: Int) { refused.withLock { $0.byWorker = count } }

  /// Returns the numbers of unreadable reports about a session that is being deleted.
  func rows(of session: SessionID) async throws(ServiceError) -> [Int64] {
    var rows: [Int64] = []
    for (row, subject) in refused.withLock({ $0.news.subjects }) {
      do throws(LedgerError) {
        let owner = try await runtime.recorder.store.task(subject.task)?.sessionID
        if owner == session || subject == DocumentSubject(session) { rows.append(row) }
      } catch {
        throw .store(error)
      }
    }
    return rows
  }

  /// Notes that these rows were deleted.
  func forget(_ rows: [Int64]) { refused.withLock { $0.news.forget(rows) } }
}

extension Logger {
  /// Logs that documents stay in the ledger.
  func note<Value>(_ reading: UndecodableDocuments.Reading<Value>, _ what: String) {
    guard let reason = reading.reason else { return }
    error(
      "cannot read documents of another version; their tasks wait for a service or worker that can",
      metadata: ["what": "\(what)", "rows": "\(reading.kept)", "first": "\(reason)"])
  }
}
