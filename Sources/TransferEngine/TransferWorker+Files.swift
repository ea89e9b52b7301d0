internal import EventLoop
internal import CLinux
internal import Glibc
internal import TransferModel

/// What a transfer has on the disk: opened, claimed, given back and removed by the pool, for the loop waits for no disk.
extension TransferWorker {
  /// What a request needs before it goes out.
  struct Files: Sendable {
    /// Reads the request's body.
    var body: BodyFileReader?
    /// Why that cannot be had.
    var failure: Int32 = 0
    /// The bytes that an earlier download left are this one's now.
    var hasClaim = false
  }

  // MARK: Before a request

  /// Whether the request has all that it needs of the disk; where not, it comes back when it has. Its place in the queue
  /// stays its own meanwhile.
  func hasFiles(_ transfer: Transfer) -> Bool {
    if transfer.hasTriedClaim, !transfer.hasClaim { transfer.resumesAt = nil }
    var file: (id: FileID, size: Int64)?
    switch transfer.request.body {
    case .data(let bytes) where transfer.source == nil: transfer.source = DataUploadSource(bytes)
    case .file(let id, let size) where transfer.source == nil: file = (id, size)
    default: break
    }
    let point = transfer.hasTriedClaim ? nil : transfer.job.resumePoint?.download
    guard file != nil || point != nil else { return true }
    transfer.stage = .parked
    transfer.hold = .files
    let path = file.map { settings.files.path($0.id) }
    let (task, bodies) = (transfer.task, transfer.session.bodies)
    settings.pool.submit { [weak self] in
      var files = Files()
      if let path {
        files.body = BodyFileReader(path: path)
        files.failure = files.body == nil ? errno : 0
      }
      if let point {
        files.hasClaim = bodies.claimPartial(of: point.source, size: point.partial.offset, for: task)
      }
      self?.post(.opened(task, files))
    }
    return false
  }

  func opened(_ transfer: Transfer, _ files: Files) {
    guard case .files = transfer.hold else { return }
    transfer.hold = nil
    if let point = transfer.job.resumePoint?.download, !transfer.hasTriedClaim {
      transfer.hasTriedClaim = true
      transfer.hasClaim = files.hasClaim
      transfer.resumesAt = files.hasClaim ? point.partial.offset : nil
    }
    if let (error, keepsPartial) = transfer.endsOnceOpened {
      return finish(transfer, with: error, keepsPartial: keepsPartial)
    }
    if case .file(let id, let size) = transfer.request.body {
      guard let reader = files.body else {
        leaveQueue(transfer.task)
        return finish(transfer, with: Self.failure(to: id, files.failure, of: transfer))
      }
      let task = transfer.task
      let range = transfer.upload?.range ?? 0..<size
      transfer.source = FileUploadSource(reader, range: range, pool: settings.pool) { [weak self] in
        self?.post(.uploadReady(task))
      }
    }
    sendAtLast(transfer)
  }

  private static func failure(to open: FileID, _ cause: Int32, of transfer: Transfer) -> TransferError {
    guard cause != ENOENT else {
      return TransferError(.fileDoesNotExist, "the file \(open) is gone", failingURL: transfer.request.url)
    }
    return TransferError(
      .cannotOpenFile, "the file \(open) cannot be opened: \(String(cString: strerror(cause)))",
      failingURL: transfer.request.url, underlying: .init(library: "posix", code: Int(cause)))
  }

  // MARK: Afterwards

  /// Removes what a task has under its name. `then` is called on the loop: before that nothing else may be written there.
  func remove(_ task: TaskID, in bodies: BodyDirectory, then: @escaping @Sendable () -> Void = {}) {
    settings.pool.submit { [weak self] in
      bodies.remove(task)
      self?.post(.run(then))
    }
  }

  /// Bytes of an earlier download that were of no use this time go back: its resume data stays good. Whether there is nothing
  /// to be given back: else the transfer ends once that is done.
  func hasNoClaim(_ transfer: Transfer) -> Bool {
    guard let point = transfer.job.resumePoint?.download, transfer.hasClaim || !transfer.hasTriedClaim else {
      return true
    }
    let isOfNoUse = transfer.hasClaim && (200..<300).contains(transfer.outcome?.response?.status ?? 0)
    if !isOfNoUse, transfer.outcome?.error != nil {
      transfer.outcome?.partial = .download(point)
      transfer.outcome?.error?.resumeDataAvailable = true
    }
    guard transfer.hasClaim else { return true }
    transfer.hasClaim = false
    let (task, bodies) = (transfer.task, transfer.session.bodies)
    settings.pool.submit { [weak self] in
      if isOfNoUse {
        bodies.dropClaim(of: task)
      } else {
        bodies.returnPartial(of: point.source, from: task)
      }
      self?.post(.cleared(task))
    }
    return false
  }
}
