internal import Curl
internal import EventLoop
internal import CLinux
internal import Glibc
internal import HTTPCache
internal import TransferModel

/// What is answered from the session's cache.
extension TransferWorker {
  // MARK: Before the wire

  /// Whether a job that has no place among the transfers yet may find its answer in the cache.
  func mayBeCached(_ job: TransferJob, _ url: CurlURL) -> Bool {
    let policy = job.request.cachePolicy ?? job.configuration.requestCachePolicy
    guard policy != .returnCacheDataDontLoad else { return true }
    guard ["GET", "HEAD"].contains(job.request.method), let session = try? session(of: job),
      let cache = session.cache
    else { return false }
    return !cache.isReady || cache.has(url.text)
  }

  /// A download, of which nothing will be stored, and for which nothing is: the quick way for most of them.
  private func hasNothing(for transfer: Transfer) -> Bool {
    guard transfer.job.kind == .download, !transfer.request.headers.contains("Cache-Control") else {
      return false
    }
    switch transfer.cachePolicy {
    case .useProtocolCachePolicy, .returnCacheDataElseLoad, .reloadIgnoringLocalCacheData:
      return transfer.session.cache.map { $0.isReady && !$0.has(transfer.url.text) } ?? true
    default: return false
    }
  }

  /// Asks the cache. True where it answers, will, or forbids to ask anybody else.
  func isServedByCache(_ transfer: Transfer) -> Bool {
    guard transfer.source == nil else { return false }
    transfer.cache = nil
    guard !hasNothing(for: transfer) else { return false }
    guard let request = transfer.cacheRequest() else { return mayNotLoad(transfer) }
    if let stored = transfer.job.revalidates?.stored { return askAbout(stored, request, transfer) }
    if let cache = transfer.session.cache, !cache.isReady {
      return waitForCache(transfer) { cache.whenReady($0) }
    }
    if let cache = transfer.session.cache, cache.isStoring(request.url) {
      return waitForCache(transfer) { cache.whenStored(request.url, $0) }
    }
    let variants = transfer.ignoresCache ? [] : transfer.session.cache?.variants(of: request.url) ?? []
    var use = CacheUse(request)
    switch CacheDecision(for: request, stored: variants, at: settings.now()) {
    case .load(let fields):
      use.fields = fields
      // What is stale may do where the origin fails, also where there is nothing to ask about it.
      if request.policy == .useProtocolCachePolicy, request.method == "GET", !request.isConditional {
        use.candidate = Vary.select(variants, for: request.headers).first {
          ServedResponse.isPossible($0, for: request)
        }
      }
    case .use(let stored): return serve(transfer, stored, use)
    case .useWhileRevalidating(let stored, let fields):
      revalidate(stored, fields, as: transfer)
      return serve(transfer, stored, use)
    case .revalidate(let stored, let fields): (use.candidate, use.fields) = (stored, fields)
    case .loadMissing(let stored, let fields):
      // Only what becomes whole here is worth it. A delegate that is asked is asked about the whole.
      if transfer.job.kind == .data, !transfer.job.asksForCaching,
        transfer.session.cache?.mayComplete(stored) == true
      {
        (use.candidate, use.fields, use.completesCandidate) = (stored, fields, true)
      }
    case .fail:
      failToLoad(transfer)
      return true
    }
    transfer.cache = use
    return false
  }

  /// A request that no cache can answer, where nobody else may be asked.
  private func mayNotLoad(_ transfer: Transfer) -> Bool {
    guard transfer.cachePolicy == .returnCacheDataDontLoad else { return false }
    failToLoad(transfer)
    return true
  }

  private func failToLoad(_ transfer: Transfer) {
    leaveQueue(transfer.task)
    finish(
      transfer,
      with: TransferError(
        .cannotLoadFromNetwork,
        "nothing that is stored answers the request, and it may not go to the network",
        failingURL: transfer.request.url))
  }

  private func askAbout(_ stored: CachedResponse, _ request: CacheRequest, _ transfer: Transfer) -> Bool {
    guard stored.url == request.url else {
      // It leads elsewhere now: that is another response.
      abort(transfer, TransferError(.cancelled, "redirected"), keepsPartial: false)
      return true
    }
    var use = CacheUse(request)
    (use.candidate, use.fields) = (stored, stored.conditions)
    transfer.cache = use
    return false
  }

  /// Comes back when the cache is ready for it.
  private func waitForCache(
    _ transfer: Transfer, _ wait: (@escaping () -> Void) -> Void
  ) -> Bool {
    leaveQueue(transfer.task)
    transfer.stage = .parked
    transfer.hold = .cache
    let task = transfer.task
    wait { [weak self] in self?.cacheReady(task) }
    return true
  }

  private func cacheReady(_ task: TaskID) {
    guard let transfer = transfer(task), case .cache = transfer.hold else { return }
    transfer.hold = nil
    proceed(transfer)
  }

  // MARK: Serving

  private func serve(_ transfer: Transfer, _ stored: CachedResponse, _ use: CacheUse) -> Bool {
    if transfer.stage == .queued { leaveQueue(transfer.task) }
    transfer.cache = use
    return answer(transfer, from: stored)
  }

  /// Gives a task what is stored, as the answer to its request. False where it cannot be.
  @discardableResult
  func answer(_ transfer: Transfer, from stored: CachedResponse) -> Bool {
    transfer.stage = .parked
    guard let use = transfer.cache,
      let served = ServedResponse(stored, for: use.request, at: settings.now())
    else { return false }
    transfer.beginDelivery(of: stored, served)
    deliver(transfer)
    return true
  }

  /// Hands the next bytes of a stored body on, as far as nobody holds them back.
  func deliver(_ transfer: Transfer) {
    guard transfer.hold == nil, !transfer.flow.isSuspended, transfer.stage == .parked,
      let delivery = transfer.delivery, !delivery.isReading, let cache = transfer.session.cache
    else { return }
    guard !delivery.rest.isEmpty else {
      transfer.endDelivery()
      return settle(transfer, Transfer.WireEnd(result: .ok, error: nil))
    }
    guard transfer.sink?.isFull != true, transfer.live?.mayGrow() != false else { return }
    transfer.delivery?.isReading = true
    let task = transfer.task
    if mayLink(transfer, delivery), let file = cache.file(of: delivery.stored) {
      return link(transfer, file.path, file.lease, delivery.stored)
    }
    let rest = delivery.rest
    cache.read(delivery.stored, rest.lowerBound..<min(rest.upperBound, rest.lowerBound + Self.deliveryPiece))
    {
      [weak self] bytes in
      guard let self, let transfer = self.transfer(task) else { return }
      delivered(transfer, bytes)
    }
  }

  private static let deliveryPiece: Int64 = 1 << 20

  private func delivered(_ transfer: Transfer, _ bytes: ArraySlice<UInt8>?) {
    guard transfer.stage == .parked, transfer.delivery != nil else { return }
    transfer.delivery?.isReading = false
    guard let bytes, !bytes.isEmpty else { return lost(transfer) }
    transfer.delivery?.offset += Int64(bytes.count)
    let isTaken = bytes.withUnsafeBytes { transfer.sink?.append($0, drained: transfer.drained) ?? true }
    guard isTaken else {
      return finish(
        transfer,
        with: TransferError(
          .bodyTooLarge, "the body is larger than allowed", failingURL: transfer.request.url))
    }
    deliver(transfer)
  }

  /// What is stored cannot be read: it is dropped, and the origin asked where nobody has been shown anything.
  private func lost(_ transfer: Transfer) {
    if let stored = transfer.delivery?.stored { transfer.session.cache?.remove(stored) }
    transfer.delivery = nil
    guard transfer.sink?.size ?? 0 == 0 else {
      return finish(
        transfer,
        with: TransferError(
          .networkConnectionLost, "the stored body is gone", failingURL: transfer.request.url))
    }
    transfer.resendWithoutCache()
    sendNext(transfer, transfer.request)
  }

  // MARK: A second name for what is stored

  /// A whole body that is a file becomes the task's by a second name: no byte is read.
  private func mayLink(_ transfer: Transfer, _ delivery: CachedDelivery) -> Bool {
    delivery.offset == 0 && delivery.bytes == 0..<delivery.stored.size
      && delivery.stored.size > Int64(settings.smallBodyLimit) && transfer.session.bodies.isOnDisk
      && transfer.sink?.size == 0 && !transfer.isRateLimited
      && delivery.stored.size <= settings.maximumBodySize
  }

  private func link(_ transfer: Transfer, _ path: String, _ lease: CacheLease, _ stored: CachedResponse) {
    // What is left to do is what is done with every body once it is here.
    transfer.endDelivery()
    let (task, bodies) = (transfer.task, transfer.session.bodies)
    let (size, digest) = (stored.size, stored.sha256)
    settings.pool.submit { [weak self, pool = settings.pool] in
      let body = withExtendedLifetime(lease) {
        bodies.adopt(path, for: task, size: size, sha256: digest, on: pool)
      }
      self?.post(.linked(task, body))
    }
  }

  func linked(_ transfer: Transfer, _ body: BodyFile?) {
    guard transfer.stage == .parked, let delivery = transfer.delivery else { body?.discard(); return }
    transfer.delivery?.isReading = false
    guard let body else { return lost(transfer) }
    transfer.delivery?.offset = delivery.stored.size
    transfer.sink?.adopt(body, size: delivery.stored.size)
    deliver(transfer)
  }

  // MARK: Revalidating meanwhile

  /// Asks the origin, for nobody in particular, whether what is stored still holds (RFC 5861 §3).
  private func revalidate(_ stored: CachedResponse, _ fields: [HTTPHeaders.Field], as transfer: Transfer) {
    guard transfer.session.revalidating.insert(stored.key).inserted else { return }
    var generator = SystemRandomNumberGenerator()
    var job = transfer.job
    job.task = TaskID(high: generator.next(), low: generator.next())
    job.kind = .data
    job.request = transfer.request
    job.request.method = "GET"
    for name in ["Range", "If-Range"] {
      job.request.headers.remove(name)
      job.configuration.httpAdditionalHeaders.remove(name)
    }
    // What the delegate would be asked about is not stored behind its back.
    job.revalidates = .init(stored: stored, policy: storagePolicy(stored, of: transfer))
    job.delegate = nil
    (job.asksForResponses, job.asksForCaching) = (false, false)
    post(.submit([job]))
  }

  private func storagePolicy(_ stored: CachedResponse, of transfer: Transfer) -> CacheStoragePolicy {
    if transfer.job.delegate?.asksForCaching == true { return .notAllowed }
    return transfer.session.cache?.isOnDisk(stored) == true ? .allowed : .allowedInMemoryOnly
  }

  /// A session is over: what still runs for it is nobody's task.
  func abandonRevalidations(of session: WorkerSession) {
    for transfer in Array(transfers.values) where transfer.session === session {
      abort(transfer, TransferError(.cancelled, "the session is over"), keepsPartial: false)
    }
  }
}
