internal import Logging
internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// What the process that carries background tasks out has told, absorbed as the engine's own facts are: the registry first, then
/// one write, in which the rows that it came in go.
extension TransferService {
  /// There may be news from the process that carries background tasks out.
  package func lookForNews() { news.look() }

  func absorb(_ rows: [Queued<String>]) {
    let told = rows.compactMap { row in
      let news = WorkerDocument.decode(WorkerNews.self, row.content)
      if news == nil { logger.error("news that are not understood", metadata: ["row": "\(row.number)"]) }
      return news
    }
    var batch = Batch()
    registry.withLock { registry in
      for news in told { absorb(news, &registry, &batch) }
      // What another process has done is nowhere but here: it must outlive this one.
      let ended = Set(batch.ended)
      for id in batch.touched where !ended.contains(id) {
        if let entry = registry.tasks[id], !entry.isEnding { batch.change.updatedTasks.append(entry.task) }
      }
      batch.change.takenNews = rows.last?.number
      let finished = batch.ended
      record(batch.change) { [self] in conclude(finished) }
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
        guard task.state == .running else { return [] }
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
    case .authenticated(let id, let space, let credential):
      guard let session = registry.tasks[id]?.task.sessionID else { return }
      engine.credentials.set(credential, for: space, in: session)
      batch.change.credentials.append(.init(session: session, space: space, credential: credential))
    default:
      guard let fact = news.fact else { return }
      if let id = news.task, !news.isProgress { batch.touched.insert(id) }
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

extension WorkerNews {
  fileprivate var isProgress: Bool { if case .progress = self { true } else { false } }

  /// Whose row changes by it.
  fileprivate var task: TaskID? {
    switch self {
    case .began(let task, _), .redirected(let task, _, _, _), .informational(let task, _, _, _),
      .response(let task, _, _), .challenged(let task, _, _, _), .resumed(let task, _, _, _),
      .ended(let task, _), .progress(let task, _, _), .waitsForConnectivity(let task, _):
      task
    default: nil
    }
  }
}
