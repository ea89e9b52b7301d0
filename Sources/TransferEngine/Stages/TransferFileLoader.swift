internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The files of transfers. The pool opens, claims, returns and deletes them, because the loop must not wait for a disk. It also parses the
/// sessions' root certificates.
final class TransferFileLoader {
  private let context: TransferContext
  /// Transfers whose session's certificate authorities are being parsed.
  private var waitingForRoots: [SessionID: [TaskID]] = [:]

  init(_ context: TransferContext) { self.context = context }

  // MARK: Before a request

  /// The files and certificates that a request still needs.
  struct Requirements {
    /// The session's root certificates in PEM; parsed before files are opened.
    var roots: String?
    var body: RequestContent?
    var claim: DownloadPoint?
    /// The destination to check, so that nothing is downloaded in vain.
    var destination: Destination?
    var isNothing: Bool { roots == nil && body == nil && claim == nil && destination == nil }
  }

  func need(of transfer: Transfer) -> Requirements {
    let wantsBody = transfer.source == nil || transfer.missingDigest != nil
    return Requirements(
      roots: transfer.session.unparsedRoots,
      body: wantsBody && transfer.request.body?.isInFile == true ? transfer.request.body : nil,
      claim: transfer.machine.claim.wanted,
      destination: context.settings.destinations == nil ? nil : transfer.job.destination)
  }

  /// Opens the files that a request needs. The transfer keeps its slot meanwhile.
  func open(_ need: Requirements, of transfer: Transfer) {
    transfer.machine.lifecycle.wait(for: .files)
    if let roots = need.roots { return parse(roots, for: transfer) }
    let (task, draft, bodies) = (transfer.task, transfer.key(.draft), transfer.session.bodies)
    // Each job checks its destination once.
    transfer.job.destination = nil
    context.settings.pool.submit {
      [mailbox = context.mailbox, blobs = context.settings.blobs, store = context.settings.destinations] in
      if let destination = need.destination, let failure = store?.fault(of: destination) {
        var files = RequestFiles()
        files.destinationFailure = failure
        return mailbox.post(.opened(task, files))
      }
      Self.open(need.body, of: task, bodies, blobs) { files in
        guard let point = need.claim else { return mailbox.post(.opened(task, files)) }
        bodies.claim(point.key, as: draft, size: point.partial.offset) { claim in
          var files = files
          files.claim = claim
          mailbox.post(.opened(task, files))
        }
      }
    }
  }

  private static func open(
    _ body: RequestContent?, of task: TaskID, _ bodies: any BlobStore, _ files: any BlobStore,
    _ done: @escaping @Sendable (RequestFiles) -> Void
  ) {
    switch body {
    case .file(let file, _): files.open(BlobKey(file)) { done(RequestFiles($0)) }
    case .spooled(let body):
      bodies.open(body.blobKey(of: task)) { opened in
        done(RequestFiles(opened.map { EncryptedBlob($0, body) }))
      }
    case .data, .stream, nil: done(RequestFiles())
    }
  }

  /// Parses a session's certificate authorities, once for all transfers that wait for them.
  private func parse(_ roots: String, for transfer: Transfer) {
    let session = transfer.session.id
    waitingForRoots[session, default: []].append(transfer.task)
    guard waitingForRoots[session]?.count == 1 else { return }
    context.settings.pool.submit { [mailbox = context.mailbox] in
      let parsed = Result { () throws(CertificateAuthoritySet.Fault) in
        try CertificateAuthoritySet(pem: roots)
      }
      mailbox.post(.parsed(session, parsed))
    }
  }

  func parsed(_ roots: Result<CertificateAuthoritySet, CertificateAuthoritySet.Fault>, of session: SessionID)
  {
    if case .success(let own) = roots { context.sessions[session]?.use(ownRoots: own) }
    for task in waitingForRoots.removeValue(forKey: session) ?? [] {
      guard let transfer = context.transfer(task), transfer.machine.lifecycle.stopWaiting(for: .files) else {
        continue
      }
      context.perform(next(for: transfer, roots), transfer)
    }
  }

  private func next(
    for transfer: Transfer, _ roots: Result<CertificateAuthoritySet, CertificateAuthoritySet.Fault>
  ) -> TransferAction {
    if let end = transfer.machine.lifecycle.endOnceOpened { return end }
    guard case .failure(let fault) = roots else { return transfer.machine.lifecycle.sendWhenReady() }
    context.leaveQueue(transfer.task)
    let message = "the session's certificates cannot be used: \(fault)"
    return .finish(TransferError(.unknown, message, failingURL: transfer.request.url))
  }

  func opened(_ transfer: Transfer, _ files: RequestFiles) -> TransferAction {
    if let algorithm = transfer.missingDigest, let body = files.body,
      transfer.machine.lifecycle.pendingEnd == nil
    {
      if files.digest == nil {
        digest(body, algorithm, for: transfer, files)
        return .wait
      }
      transfer.digests.note(files.digest, by: algorithm)
    }
    transfer.digester = nil
    guard transfer.machine.lifecycle.stopWaiting(for: .files) else { return .wait }
    if let end = transfer.machine.lifecycle.endOnceOpened {
      tried(files.claim, of: transfer)
      return end
    }
    if let failure = files.destinationFailure {
      context.leaveQueue(transfer.task)
      return .finish(TransferError(failure, url: transfer.request.url))
    }
    if let refusal = tried(files.claim, of: transfer) {
      context.leaveQueue(transfer.task)
      return .finish(
        TransferError(
          // Background sessions retry both errors: the file may be readable by then.
          refusal.isFull ? .cannotWriteToFile : .resourceUnavailable,
          "the earlier part of the download cannot be opened: \(refusal.message)",
          failingURL: transfer.request.url, underlying: refusal.underlying))
    }
    if let body = transfer.request.body, body.isInFile {
      guard let reader = files.body else {
        context.leaveQueue(transfer.task)
        return .finish(Self.failure(to: body, files.failure, of: transfer))
      }
      let task = transfer.task
      transfer.source = FileUploadSource(reader, range: transfer.bodyRange, pool: context.settings.pool) {
        [mailbox = context.mailbox] in
        mailbox.post(.uploadReady(task))
      }
    }
    return transfer.machine.lifecycle.sendWhenReady()
  }

  /// Records whether the bytes of an earlier download were claimed. If they do not exist, the download starts from its beginning.
  /// - Returns: The store's error. The bytes are then unchanged, for a later attempt.
  @discardableResult
  private func tried(_ claim: Result<Void, BlobError>?, of transfer: Transfer) -> BlobError? {
    guard transfer.machine.claim.wanted != nil else { return nil }
    if case .failure(let error) = claim, ![.notFound, .incomplete, .fencedOff].contains(error.reason) {
      return error
    }
    let hasSucceeded = if case .success = claim { true } else { false }
    if !hasSucceeded { transfer.machine.ranges.discardKept() }
    transfer.machine.claim.noteResult(hasSucceeded)
    return nil
  }

  /// Digests the body and posts `.opened` with the digest. If the file cannot be read, `.opened` carries the failure and no body.
  private func digest(
    _ body: any BlobReader, _ algorithm: DigestAuthentication.Algorithm, for transfer: Transfer,
    _ files: RequestFiles
  ) {
    let task = transfer.task
    let digester = FileDigester(body, transfer.bodyRange, algorithm, on: context.settings.pool) {
      [mailbox = context.mailbox] digest in
      var files = files
      files.digest = digest
      if digest == nil {
        (files.body, files.failure) = (nil, BlobError(.incomplete, "the file cannot be read to its end"))
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
    guard let cause, cause.reason != .notFound else {
      return TransferError(.fileDoesNotExist, "\(name) no longer exists", failingURL: transfer.request.url)
    }
    return TransferError(
      .cannotOpenFile, "\(name) cannot be opened: \(cause.message)",
      failingURL: transfer.request.url, underlying: cause.underlying)
  }

  // MARK: After the transfer

  /// Deletes a blob.
  /// - Parameter then: The command to post after the deletion. Until then its key must not be reused.
  func remove(_ key: BlobKey, in bodies: any BlobStore, then: TransferLoopMailbox.Command? = nil) {
    context.settings.pool.submit { [mailbox = context.mailbox] in
      bodies.delete(key) { _ in
        if let then { mailbox.post(then) }
      }
    }
  }

  /// Gives back or deletes the unused bytes of an earlier download, then ends the transfer.
  func giveBack(_ files: DownloadClaim.ReleaseAction.Files, of transfer: Transfer) {
    transfer.machine.claim.release()
    let (task, draft, bodies) = (transfer.task, transfer.key(.draft), transfer.session.bodies)
    context.settings.pool.submit { [mailbox = context.mailbox] in
      let done: BlobCompletion<Void> = { result in
        mailbox.post(
          .resume(task) { transfer in
            if case .failure = result {
              transfer.outcome?.partial = nil
              transfer.outcome?.error?.resumeDataAvailable = false
            }
            return .conclude
          })
      }
      switch files {
      case .nothing: done(.success(()))
      case .drop: bodies.delete(draft, done)
      case .giveBack(let point): bodies.move(draft, to: point.key, done)
      }
    }
  }
}
