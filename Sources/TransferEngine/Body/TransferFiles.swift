internal import BlobStore
internal import Curl
internal import EventLoop
internal import TransferModel

/// The files of transfers. The pool opens, claims, returns and removes them, because the loop must not wait for a disk. It also parses
/// the sessions' root certificates.
final class TransferFiles: WorkerPart {
  /// Transfers whose session's certificate authorities are being parsed.
  private var waitingForRoots: [SessionID: [TaskID]] = [:]

  /// What a request needs before it goes out.
  struct Files: Sendable {
    /// Reads the request's body.
    var body: BlobReader?
    /// Why that cannot be had.
    var failure: BlobError?
    /// Of the request's body.
    var digest: String?
    /// The bytes that an earlier download left are this one's now.
    var hasClaim = false
  }

  // MARK: Before a request

  /// The files and certificates that a request still needs.
  struct Need {
    /// The session's root certificates in PEM; parsed before files are opened.
    var roots: String?
    var body: RequestContent?
    var claim: DownloadPoint?
    var isNothing: Bool { roots == nil && body == nil && claim == nil }
  }

  func need(of transfer: Transfer) -> Need {
    let wantsBody = transfer.source == nil || transfer.missingDigest != nil
    return Need(
      roots: transfer.session.unparsedRoots,
      body: wantsBody && transfer.request.body?.isInFile == true ? transfer.request.body : nil,
      claim: transfer.machine.claim.wanted)
  }

  /// Opens what a request needs, and comes back with it. Its place in the queue stays its own meanwhile.
  func open(_ need: Need, of transfer: Transfer) {
    transfer.machine.course.wait(for: .files)
    if let roots = need.roots { return parse(roots, for: transfer) }
    let (task, draft, bodies) = (transfer.task, transfer.key(.draft), transfer.session.bodies)
    worker.settings.pool.submit { [mailbox = worker.mailbox, blobs = worker.settings.blobs] in
      var files = Files()
      if let body = need.body {
        do throws(BlobError) { files.body = try Self.open(body, of: task, bodies, blobs) } catch {
          files.failure = error
        }
      }
      if let point = need.claim {
        let claim = Result { () throws(BlobError) in
          try bodies.take(point.key, as: draft, size: point.partial.offset)
        }
        if case .success = claim { files.hasClaim = true }
      }
      mailbox.post(.opened(task, files))
    }
  }

  private static func open(
    _ body: RequestContent, of task: TaskID, _ bodies: any BlobStore, _ files: any BlobStore
  ) throws(BlobError) -> BlobReader? {
    switch body {
    case .file(let file, _): try files.open(BlobKey(file))
    case .spooled(let body): BlobReader(decrypting: try bodies.open(body.blobKey(of: task)), body)
    case .data, .stream: nil
    }
  }

  /// Parses a session's certificate authorities, once for all transfers that wait for them.
  private func parse(_ roots: String, for transfer: Transfer) {
    let session = transfer.session.id
    waitingForRoots[session, default: []].append(transfer.task)
    guard waitingForRoots[session]?.count == 1 else { return }
    worker.settings.pool.submit { [mailbox = worker.mailbox, weak worker] in
      let parsed = Result { () throws(TLSRoots.Fault) in try TLSRoots(pem: roots) }
      mailbox.post(.run { [weak worker] in worker?.files.parsed(parsed, of: session) })
    }
  }

  private func parsed(_ roots: Result<TLSRoots, TLSRoots.Fault>, of session: SessionID) {
    if case .success(let own) = roots { worker.sessions[session]?.use(ownRoots: own) }
    for task in waitingForRoots.removeValue(forKey: session) ?? [] {
      guard let transfer = worker.transfer(task), transfer.machine.course.stopWaiting(for: .files) else {
        continue
      }
      if worker.endings.finishIfEnded(transfer) { continue }
      if case .failure(let fault) = roots {
        worker.leaveQueue(task)
        let message = "the session's certificates cannot be used: \(fault)"
        worker.endings.finish(
          transfer, with: TransferError(.unknown, message, failingURL: transfer.request.url))
      } else {
        worker.steps.sendAtLast(transfer)
      }
    }
  }

  func opened(_ transfer: Transfer, _ files: Files) {
    if let algorithm = transfer.missingDigest, let body = files.body,
      transfer.machine.course.endsOnceOpened == nil
    {
      if files.digest == nil { return digest(body, algorithm, for: transfer, files) }
      transfer.digests.note(files.digest, by: algorithm)
    }
    transfer.digester = nil
    guard transfer.machine.course.stopWaiting(for: .files) else { return }
    if transfer.machine.claim.wanted != nil, !files.hasClaim { transfer.machine.ranges.lose() }
    transfer.machine.claim.tried(files.hasClaim)
    if worker.endings.finishIfEnded(transfer) { return }
    if let body = transfer.request.body, body.isInFile {
      guard let reader = files.body else {
        worker.leaveQueue(transfer.task)
        return worker.endings.finish(transfer, with: Self.failure(to: body, files.failure, of: transfer))
      }
      let task = transfer.task
      transfer.source = FileUploadSource(reader, range: transfer.bodyRange, pool: worker.settings.pool) {
        [mailbox = worker.mailbox] in
        mailbox.post(.uploadReady(task))
      }
    }
    worker.steps.sendAtLast(transfer)
  }

  /// Digests the body and posts `.opened` with the digest. If the file cannot be read, `.opened` carries the failure and no body.
  private func digest(
    _ body: BlobReader, _ algorithm: DigestAuthentication.Algorithm, for transfer: Transfer, _ files: Files
  ) {
    let task = transfer.task
    let digester = FileDigester(body, transfer.bodyRange, algorithm, on: worker.settings.pool) {
      [mailbox = worker.mailbox] digest in
      var files = files
      files.digest = digest
      if digest == nil {
        (files.body, files.failure) = (nil, BlobError(.torn, "it cannot be read to its end"))
      }
      mailbox.post(.opened(task, files))
    }
    transfer.digester = digester
    digester.start()
  }

  private static func failure(
    to open: RequestContent, _ cause: BlobError?, of transfer: Transfer
  ) -> TransferError {
    let name = open.file.map { "the file \($0)" } ?? "the file with the request's body"
    guard let cause, cause.reason != .gone else {
      return TransferError(.fileDoesNotExist, "\(name) is gone", failingURL: transfer.request.url)
    }
    return TransferError(
      .cannotOpenFile, "\(name) cannot be opened: \(cause.message)",
      failingURL: transfer.request.url, underlying: cause.underlying)
  }

  // MARK: Afterwards

  /// Removes a blob. `then` is called on the loop: before that nothing else may be written under its key.
  func remove(_ key: BlobKey, in bodies: any BlobStore, then: @escaping @Sendable () -> Void = {}) {
    worker.settings.pool.submit { [mailbox = worker.mailbox] in
      bodies.delete(key)
      mailbox.post(.run(then))
    }
  }

  /// Bytes of an earlier download that were of no use this time go back, or go: the transfer ends once that is done.
  func giveBack(_ files: DownloadClaim.Return.Files, of transfer: Transfer) {
    transfer.machine.claim.letGo()
    let (task, draft, bodies) = (transfer.task, transfer.key(.draft), transfer.session.bodies)
    worker.settings.pool.submit { [mailbox = worker.mailbox] in
      switch files {
      case .nothing: break
      case .drop: bodies.delete(draft)
      case .giveBack(let point): bodies.move(draft, to: point.key)
      }
      mailbox.post(.cleared(task))
    }
  }

  // MARK: A body

  func makeSink(_ transfer: Transfer, resuming offset: Int64?) -> BodySink {
    let (bodies, draft) = (transfer.session.bodies, transfer.key(.draft))
    if let live = transfer.live { worker.setLiveBody(live, of: transfer.task) }
    if let offset {
      transfer.machine.claim.use()
      return BodySink(
        resuming: BlobWriter(resuming: draft, at: offset, in: bodies, on: worker.settings.pool), at: offset,
        maximumSize: worker.settings.maximumBodySize)
    }
    return BodySink(
      smallBodyLimit: worker.settings.smallBodyLimit, maximumSize: worker.settings.maximumBodySize,
      expectedSize: transfer.multipart == nil ? transfer.response?.expectedContentLength ?? -1 : -1,
      live: transfer.live,
      reserveSmall: { [weak transfer] in bodies.reserve($0, as: transfer?.key(.body) ?? draft.part(.body)) },
      makeFile: { [pool = worker.settings.pool, weak transfer] in
        transfer?.noteKept()
        return BlobWriter(transfer?.key(.draft) ?? draft, in: bodies, on: pool)
      })
  }
}
