internal import Logging
internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// Reads what the process that carries background tasks out has told. The rows that it came in go with what it comes to.
final class NewsReader: Sendable {
  /// News that are taken at one time. The next are read when these are written: whoever else has something to write waits for one page
  /// at most.
  static let page = 250

  private let room: MachineRoom
  private let logger: Logger
  private let reader: QueueReader<String>
  /// What the worker told and this version cannot read, and how much the worker leaves likewise.
  private let refused = Mutex((news: RefusedDocuments(), byWorker: 0))
  /// What the other process did while there was no service is known. Before that its rings need not be heard.
  private let hasCaughtUp = Mutex(false)

  init(room: MachineRoom, spawn: Spawn, logger: Logger) {
    self.room = room
    self.logger = logger
    let store = room.recorder.store
    let pages = Relay<Page>()
    reader = QueueReader(spawn) { (number: Int64) async throws(StoreError) in
      try await store.news(after: number, limit: Self.page)
    } take: { rows in
      await withCheckedContinuation { continuation in
        pages.deliver(Page(rows: rows) { continuation.resume() })
      }
    }
    pages.connect { [weak self] page in
      guard let self else { return page.written() }
      take(page)
    }
  }

  private struct Page: Sendable {
    let rows: [Queued<String>]
    let written: @Sendable () -> Void
  }

  /// There may be news.
  func look() {
    if hasCaughtUp.withLock({ $0 }) { reader.look() }
  }

  /// Reads what was there when the service began.
  func readAll() async throws(StoreError) {
    if let last = try await room.recorder.store.lastNews() { try await reader.readAll(through: last) }
  }

  /// From here on rings are heard.
  func catchUp() {
    hasCaughtUp.withLock { $0 = true }
    look()
  }

  private func take(_ page: Page) {
    let found = page.rows.map { RefusedDocuments.Row(number: $0.number, document: $0.content) }
    let store = room.recorder.store
    let told = refused.withLock { $0.news.read(WorkerNews.self, found, where: store.unreadable.isDamaged) }
    logger.note(told, "news")
    var news: [(number: Int64, news: News)] = []
    var others = Set(page.rows.map(\.number).filter { number in told.taken.contains { $0.contains(number) } })
    for (row, value) in told.values {
      if let value = News(value) {
        news.append((row.number, value))
        others.remove(row.number)
      } else {
        take(value)
      }
    }
    room.absorb(news, andTaken: Array(others), written: page.written)
  }

  /// What concerns no task.
  private func take(_ news: WorkerNews) {
    switch news {
    case .changedCookies(let session, let changes): room.engine.cookies.apply(changes, to: session)
    case .refused(let count): workerRefuses(count)
    default: break
    }
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

extension News {
  /// nil where it is of no task.
  init?(_ news: WorkerNews) {
    switch news {
    case .challenged(let task, let challenge, let type, let time, let number?):
      self = .fact(.asked(task, number, .challenge(challenge, type), at: time))
    case .challenged(let task, let challenge, let type, let time, nil):
      self = .challenged(task, challenge, type, at: time)
    case .retries(let task, let count, let time): self = .retries(task, count: count, at: time)
    case .beganDelayed(let task, let time): self = .beganDelayed(task, at: time)
    case .wasTakenOver(let task, let time): self = .wasTakenOver(task, at: time)
    default:
      guard let fact = news.fact else { return nil }
      self = .fact(fact)
    }
  }
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
