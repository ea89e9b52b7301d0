internal import BlobStore
internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Executes the steps with the files of destinations, on threads of its own: a copy to another file system may take long.
final class FilePlacer: Sendable {
  /// `nil` if the operator has opened no directory.
  let store: (any DestinationStore)?
  private let pool: ThreadPool
  /// The tasks whose temporary file is being written. The value says whether the task was cancelled.
  private let running = Mutex<[TaskID: Bool]>([:])

  init(_ store: (any DestinationStore)?, pool: ThreadPool) {
    self.store = store
    self.pool = pool
  }

  /// - Parameters:
  ///   - bodies: the store of the received bodies.
  ///   - epoch: the epoch of this process.
  ///   - report: called once for each `prepare` and `rename`, on any thread.
  func perform(
    _ steps: [PlacementStep], bodies: any BlobStore, epoch: Int64,
    _ report: @escaping @Sendable (TaskID, PlacementReport) -> Void
  ) {
    for step in steps {
      if case .cancel(let task) = step {
        running.withLock { if $0[task] != nil { $0[task] = true } }
        continue
      }
      if case .prepare(let order) = step { running.withLock { $0[order.task] = false } }
      pool.submit { [self] in perform(step, bodies, epoch) { report(step.task, $0) } }
    }
  }

  private func perform(
    _ step: PlacementStep, _ bodies: any BlobStore, _ epoch: Int64,
    _ report: @escaping @Sendable (PlacementReport) -> Void
  ) {
    guard let store else {
      if case .discard = step { return }
      return report(
        .failed(
          TransferError(
            .destinationFailed, "the service has no directory for destinations; see --destination-directory"))
      )
    }
    switch step {
    case .cancel: break
    case .discard(let order): store.discard(order.file(epoch))
    case .rename(let order, let mark):
      switch store.rename(order.file(epoch), mark) {
      case .success(let file): report(.placed(file))
      case .failure(let failure): report(.failed(TransferError(failure)))
      }
    case .prepare(let order):
      let task = order.task
      let done: @Sendable (Result<PreparedFile, DestinationFailure>) -> Void = { [self] result in
        running.withLock { $0[task] = nil }
        switch result {
        case .success(.temporary(let mark)): report(.prepared(mark))
        case .success(.placed(let file)): report(.placed(file))
        case .failure(let failure): report(.failed(TransferError(failure)))
        }
      }
      let isCancelled: @Sendable () -> Bool = { [self] in running.withLock { $0[task] == true } }
      let prepare: @Sendable (DestinationSource) -> Void = { [pool] source in
        store.prepare(
          order.file(epoch), from: source, earlier: order.earlier, on: pool, isCancelled: isCancelled, done)
      }
      switch order.body {
      case .memory(let bytes): prepare(.bytes(bytes))
      case .file:
        if let local = bodies.local { return prepare(.local(local.localFile(of: order.key))) }
        bodies.open(order.key) { opened in
          switch opened {
          case .success(let reader): prepare(.reader(reader))
          case .failure(let error):
            done(
              .failure(
                DestinationFailure("the received body cannot be read: \(error.message)", code: error.code)))
          }
        }
      }
    }
  }
}

extension PlacementOrder {
  fileprivate func file(_ epoch: Int64) -> DestinationFile {
    DestinationFile(task: task, epoch: epoch, tenant: tenant, destination: destination, size: size)
  }
}
