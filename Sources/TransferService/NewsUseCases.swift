internal import Logging
internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// What the process that carries background tasks out has told, absorbed as the engine's own facts are: the registry first, then
/// one write, in which the rows that it came in go.
extension TransferService {
  /// There may be news from the process that carries background tasks out.
  package func lookForNews() {
    if hasCaughtUp.load(ordering: .acquiring) { news.look() }
  }

  func absorb(_ page: NewsPage) {
    let found = page.rows.map { RefusedDocuments.Row(number: $0.number, document: $0.content) }
    let told = refused.withLock { $0.news.read(WorkerNews.self, found, where: store.unreadable.isDamaged) }
    logger.note(told, "news")
    var batch = Batch()
    registry.withLock { registry in
      for (_, news) in told.values { absorb(news, &registry, &batch) }
      // What another process has done is nowhere but here: it must outlive this one.
      let ended = Set(batch.ended)
      for id in batch.touched where !ended.contains(id) {
        if let entry = registry.tasks[id], !entry.isEnding { batch.change.updatedTasks.append(entry.task) }
      }
      batch.change.takenNews = told.taken
      let finished = batch.ended
      record(batch.change) { [self] in
        conclude(finished)
        page.written()
      }
    }
    for wake in batch.headWaiters { wake() }
  }

  private func absorb(_ news: WorkerNews, _ registry: inout TransferRegistry, _ batch: inout Batch) {
    switch news {
    case .retries(let id, let count, let time):
      settle(id, .withdrawn, answer: nil, &registry, &batch.change)
      registry.tasks[id]?.waitsToRetry = true
      tell(id, &registry, &batch) { task in
        task.retryCount = count
        // It may wait for that already, where its worker died before the next attempt.
        guard task.state == .running, task.phase != .waitingToRetry else { return [] }
        task.phase = .waitingToRetry
        return [Self.stateEvent(of: task, at: time)]
      }
    case .beganDelayed(let id, let time):
      registry.tasks[id]?.hasBegun = true
      tell(id, &registry, &batch) { task in
        let payload = TransferEvent.Payload.delayed(task.currentRequest)
        return [
          TransferEvent(.taskWillBeginDelayedRequest, at: time, session: task.sessionID, task: id, payload)
        ]
      }
    case .wasTakenOver(let id, let time):
      // Whoever asked is gone, and will ask again.
      settle(id, .withdrawn, answer: nil, &registry, &batch.change)
      tell(id, &registry, &batch) { task in
        guard task.state == .running, task.phase != .queued else { return [] }
        task.phase = .queued
        return [Self.stateEvent(of: task, at: time)]
      }
    case .changedCookies(let session, let changes): engine.cookies.apply(changes, to: session)
    case .refused(let count): refused.withLock { $0.byWorker = count }
    case .challenged(let id, let challenge, let type, let time, let question):
      batch.touched.insert(id)
      ask(challenge, number: question, type, of: id, at: time, &registry, &batch.change)
    case .authenticated(let id, let space, let credential):
      guard let session = registry.tasks[id]?.task.sessionID else { return }
      engine.credentials.set(credential, for: space, in: session)
      batch.change.credentials.append(.init(session: session, space: space, credential: credential))
    default:
      guard let fact = news.fact else { return }
      if let id = news.task, !news.isPassing { batch.touched.insert(id) }
      absorb(fact, &registry, &batch)
    }
  }

  private func tell(
    _ id: TaskID, _ registry: inout TransferRegistry, _ batch: inout Batch,
    _ body: (inout TransferTask) -> [TransferEvent]
  ) {
    batch.touched.insert(id)
    tell(id, &registry, &batch.change, body)
  }
}

/// News that are taken with one commit. The next are read when that is written: whoever else has something to write waits for one page
/// at most.
struct NewsPage: Sendable {
  static let limit = 250

  let rows: [Queued<String>]
  let written: @Sendable () -> Void
}

extension WorkerNews {
  /// Whose row changes by it.
  fileprivate var task: TaskID? {
    switch self {
    case .began(let task, _), .redirected(let task, _, _, _), .informational(let task, _, _, _),
      .response(let task, _, _), .resumed(let task, _, _, _),
      .ended(let task, _), .progress(let task, _, _), .waitsForConnectivity(let task, _):
      task
    default: nil
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
