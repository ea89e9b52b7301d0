internal import Cluster
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import Logging
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Reads what the process that carries background tasks out has told. The rows that it came in go with what it comes to.
final class NewsReader: Sendable {
  /// News that are taken at one time. The next are read when these are written: whoever else has something to write waits for one page
  /// at most.
  static let page = 250

  /// What is told of no session is for whoever owns that one.
  static let commonShard = Shard(0)

  private let room: MachineRoom
  private let logger: Logger
  private let reader: QueueReader<String>
  /// What the worker told and this version cannot read, and how much the worker leaves likewise.
  private let refused = Mutex((news: RefusedDocuments(), byWorker: 0))
  /// Shards about which everything was read from its beginning. What is told of the others waits, so that it is heard in its order.
  private let heard: Heard
  /// What the other process did while there was no service is known. Before that its rings need not be heard.
  private let hasCaughtUp = Mutex(false)

  init(room: MachineRoom, spawn: Spawn, logger: Logger) {
    self.room = room
    self.logger = logger
    let heard = Heard()
    self.heard = heard
    let store = room.recorder.store
    let pages = Relay<Page>()
    reader = QueueReader(spawn) { (number: Int64) async throws(StoreError) in
      try await store.news(after: number, limit: Self.page)
    } take: { (rows) async throws(StoreError) in
      var own = rows
      let isWanted = heard.shards
      if !room.cluster.isAlone || isWanted != .all {
        let sessions = try await Self.sessions(of: rows, room)
        // One that is about to go may stay, and then nobody would read again what is about it.
        own = zip(rows, sessions).filter { _, session in
          isWanted.contains(session.shard) && room.cluster.holds(session.shard)
        }.map(\.0)
      }
      guard !own.isEmpty else { return }
      let page = own
      let left = await withCheckedContinuation { continuation in
        pages.deliver(Page(rows: page) { continuation.resume(returning: $0) })
      }
      if !left.isEmpty { try await Self.drop(rows.filter { left.contains($0.number) }, room) }
    }
    pages.connect { [weak self] page in
      guard let self else { return page.written([]) }
      take(page)
    }
  }

  /// Nobody is left here whom these are about. Where somebody is elsewhere, they stay.
  private static func drop(_ rows: [Queued<String>], _ room: MachineRoom) async throws(StoreError) {
    let sessions = try await sessions(of: rows, room)
    let groups = Dictionary(grouping: zip(rows, sessions), by: \.1).sorted { $0.key < $1.key }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let left = Countdown(from: groups.count) { continuation.resume() }
      for (session, rows) in groups {
        var change = StoreChange()
        change.owner = session
        change.takenNews = rows.map(\.0.number).sorted().ranges
        room.recorder.record(change) { _ in left.count() }
      }
    }
  }

  /// Whose session each is about. What is about none is for the common shard.
  private static func sessions(
    of rows: [Queued<String>], _ room: MachineRoom
  ) async throws(StoreError) -> [SessionID] {
    let subjects = rows.map { DocumentSubject(ofDocument: $0.content) }
    let unknown = subjects.compactMap { $0?.task }.filter { room.directory[$0] == nil }
    let tasks = Dictionary(
      try await room.recorder.store.tasks(unknown).map { ($0.id, $0.sessionID) }, uniquingKeysWith: { $1 })
    return subjects.map { subject in
      guard let subject else { return SessionID(high: 0, low: 0).inShard(commonShard) }
      return room.directory[subject.task] ?? tasks[subject.task] ?? subject.session
    }
  }

  private final class Heard: Sendable {
    private let state = Mutex(ShardSet())
    var shards: ShardSet { state.withLock { $0 } }
    func add(_ shards: ShardSet) { state.withLock { $0 = $0.union(shards) } }
    func remove(_ shards: ShardSet) { state.withLock { $0 = $0.subtracting(shards) } }
  }

  private struct Page: Sendable {
    let rows: [Queued<String>]
    /// Called once what they come to is committed, with the numbers of those that are to be dropped.
    let written: @Sendable (Set<Int64>) -> Void
  }

  /// There may be news.
  func look() {
    if hasCaughtUp.withLock({ $0 }) { reader.look() }
  }

  /// What is told of these shards is left for now: their sessions have only just come.
  func leave(_ shards: ShardSet) { heard.remove(shards) }

  /// From here on what is told of these shards is heard.
  /// - Parameter readsAll: what is there now is read from its beginning.
  func hear(_ shards: ShardSet, readsAll: Bool) async throws(StoreError) {
    guard readsAll else { return heard.add(shards) }
    let last = try await room.recorder.store.lastNews() ?? 0
    try await reader.readAllAgain(through: last) { heard.add(shards) }
  }

  /// From here on rings are heard.
  func catchUp() {
    hasCaughtUp.withLock { $0 = true }
    look()
  }

  private func take(_ page: Page) {
    let found = page.rows.map {
      RefusedDocuments.Decoded<WorkerNews>(.init(number: $0.number, document: $0.content))
    }
    let store = room.recorder.store
    let told = refused.withLock { $0.news.read(found, where: store.unreadable.isDamaged) }
    logger.note(told, "news")
    var facts: [(number: Int64, fact: TransferFact)] = []
    var others = Set(page.rows.map(\.number).filter { number in told.taken.contains { $0.contains(number) } })
    for (row, value) in told.values {
      switch value {
      case .fact(let fact):
        facts.append((row.number, fact))
        others.remove(row.number)
      case .changedCookies(let session, let changes):
        room.engine.storages.update(session) { [engine = room.engine] in
          engine.cookies.apply(changes, to: session)
        }
      case .refused(let count): workerRefuses(count)
      }
    }
    let rest = Mutex(others)
    let left = Countdown(from: 2) { page.written(rest.withLock { $0 }) }
    let unwanted = room.absorb(facts) { left.count() }
    rest.withLock { $0.formUnion(unwanted) }
    left.count()
  }

  // MARK: What cannot be read

  /// How many documents of another version stay in the store because nobody can read them.
  var refusedDocuments: Int { refused.withLock { $0.news.count + $0.byWorker } }

  /// Tasks of which something was told that cannot be read.
  var refusedTasks: [TaskID] { refused.withLock { $0.news.subjects.map(\.subject.task) } }

  func workerRefuses(_ count: Int) { refused.withLock { $0.byWorker = count } }

  /// The rows of news that nobody can read and that nobody will ask for, as their session goes.
  func rows(of session: SessionID) async throws(ServiceError) -> [Int64] {
    var rows: [Int64] = []
    for (row, subject) in refused.withLock({ $0.news.subjects }) {
      do throws(StoreError) {
        let owner = try await room.recorder.store.task(subject.task)?.sessionID
        if owner == session || subject == DocumentSubject(session) { rows.append(row) }
      } catch {
        throw .store(error)
      }
    }
    return rows
  }

  /// They are gone from the store.
  func forget(_ rows: [Int64]) { refused.withLock { $0.news.forget(rows) } }
}

extension Logger {
  /// Says that documents stay in the store.
  func note<Value>(_ reading: RefusedDocuments.Reading<Value>, _ what: String) {
    guard let reason = reading.reason else { return }
    error(
      "documents of another version are kept, and their tasks wait until a process starts that can read them",
      metadata: ["what": "\(what)", "rows": "\(reading.kept)", "first": "\(reason)"])
  }
}
