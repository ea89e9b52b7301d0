internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// The stage that answers requests from the session's cache.
final class CacheResponder: @unchecked Sendable {
  // Unchecked: used only on the loop's thread.
  private let context: TransferContext
  private let delivery: ResponseDelivery

  init(_ context: TransferContext, _ delivery: ResponseDelivery) {
    (self.context, self.delivery) = (context, delivery)
  }

  // MARK: Before the wire

  /// Returns whether the cache is irrelevant: the transfer is a download, which stores nothing, and nothing is stored for its URL. This is
  /// the fast path of most downloads.
  private func hasNothing(for transfer: Transfer) -> Bool {
    guard transfer.job.kind == .download, !transfer.request.headers.contains("Cache-Control") else {
      return false
    }
    switch transfer.cachePolicy {
    case .useProtocolCachePolicy, .returnCacheDataElseLoad, .reloadIgnoringLocalCacheData:
      return transfer.session.cache?.mayHave(transfer.url.text) != true
    default: return false
    }
  }

  /// Returns the request in the form that the cache uses; `nil` if the cache does not apply.
  private func request(of transfer: Transfer) -> CacheRequest? {
    let request = transfer.request
    guard request.body == nil, ["GET", "HEAD"].contains(request.method), transfer.job.resumePoint == nil
    else {
      return nil
    }
    var headers = transfer.headers(with: [])
    if !headers.contains("Authorization"), case .password(let user, let password) = request.credential?.kind {
      headers.append("Authorization", "\(user):\(password)")
    }
    return CacheRequest(
      url: transfer.url.text, method: request.method, headers: headers, policy: transfer.cachePolicy)
  }

  /// Looks up the next request in the cache. Returns `nil` if it must be sent.
  func answer(_ transfer: Transfer) -> TransferAction? {
    switch lookup(transfer) {
    case .load(let use):
      transfer.machine.cache = use
      return nil
    case .wait(let shelf):
      wait(for: shelf, transfer)
      return .wait
    case .serve(let stored, let served, let use): return serve(transfer, stored, served, use)
    case .serveWhileRevalidating(let stored, let served, let use, let fields):
      revalidate(stored, fields, as: transfer)
      return serve(transfer, stored, served, use)
    case .refuse:
      context.leaveQueue(transfer.task)
      return .finish(
        TransferError(
          .cannotLoadFromNetwork,
          "the cache has no response for the request, which must not use the network",
          failingURL: transfer.request.url))
    case .bypass: return .abort(TransferError(.cancelled, "redirected"), keepsPartial: false)
    }
  }

  private func lookup(_ transfer: Transfer) -> CacheLookup.NextStep {
    // A request with a source was looked up before.
    guard transfer.source == nil else { return .load(transfer.machine.cache) }
    guard !hasNothing(for: transfer) else { return .load(nil) }
    guard let request = request(of: transfer) else {
      // A request that no cache can answer.
      return transfer.cachePolicy == .returnCacheDataDontLoad ? .refuse : .load(nil)
    }
    var lookup = CacheLookup(request: request)
    lookup.revalidatedResponse = transfer.job.revalidates?.stored
    lookup.mayComplete = transfer.job.kind == .data && !transfer.job.asksForCaching
    let cache = transfer.session.cache
    var shelf = cache?.shelf(of: request.url) ?? .ready([])
    if transfer.machine.lifecycle.ignoresCache, case .ready = shelf { shelf = .ready([]) }
    return lookup.nextStep(on: shelf, at: context.settings.now()) { cache?.mayComplete($0) == true }
  }

  /// Parks the transfer until the cache is ready for it.
  private func wait(for shelf: CacheLookup.StoredState, _ transfer: Transfer) {
    context.leaveQueue(transfer.task)
    transfer.machine.lifecycle.wait(for: .cache)
    let task = transfer.task
    let ready = { [context] in
      context.resume(task) { $0.machine.lifecycle.stopWaiting(for: .cache) ? .proceed : .wait }
    }
    switch shelf {
    case .opening: transfer.session.cache?.whenReady(ready)
    case .storing: transfer.session.cache?.whenStored(CacheRequest.key(transfer.url.text), ready)
    case .ready: ready()
    }
  }

  // MARK: Serving

  private func serve(
    _ transfer: Transfer, _ stored: CachedResponse, _ served: ServedResponse, _ use: CacheTransaction
  ) -> TransferAction {
    if transfer.state.isQueued { context.leaveQueue(transfer.task) }
    transfer.machine.cache = use
    return show(transfer, stored, served)
  }

  /// Answers the request with a cached response. If the response does not answer it, the request is sent.
  func answer(_ transfer: Transfer, from stored: CachedResponse) -> TransferAction {
    transfer.machine.lifecycle.park()
    guard let use = transfer.machine.cache,
      let served = ServedResponse(stored, for: use.request, at: context.settings.now())
    else { return .sendWithoutCache }
    return show(transfer, stored, served)
  }

  private func show(
    _ transfer: Transfer, _ stored: CachedResponse, _ served: ServedResponse
  ) -> TransferAction {
    transfer.machine.lifecycle.park()
    beginDelivery(to: transfer, of: stored, served)
    return deliver(transfer)
  }

  /// Shows a cached response as the task's response.
  private func beginDelivery(to transfer: Transfer, of stored: CachedResponse, _ served: ServedResponse) {
    transfer.caching.delivery = CachedBodyDelivery(stored: stored, bytes: served.body)
    let head = ResponseHead(httpVersion: stored.httpVersion, status: served.status, headers: served.headers)
    let (start, now) = (transfer.fetchStart, context.settings.now())
    (transfer.received.head, transfer.received.headTime) = (head, now)
    transfer.facts.append(.began(transfer.task, at: start))
    var transaction = TransactionMetrics()
    (transaction.url, transaction.method) = (transfer.request.url, transfer.request.method)
    transaction.status = served.status
    (transaction.fetchStart, transaction.responseStart, transaction.responseEnd) = (start, now, now)
    transaction.isFromCache = true
    transfer.transactions.append(transaction)
    var response = TransferResponse(head, at: transfer.url)
    response.fromCache = true
    delivery.announce(response, transfer)
  }

  /// Completes the metrics of a cached response whose body was read or linked.
  private func endDelivery(to transfer: Transfer) {
    guard let last = transfer.transactions.indices.last, transfer.transactions[last].isFromCache,
      let delivery = transfer.caching.delivery, !delivery.isEnded
    else { return }
    transfer.caching.delivery?.isEnded = true
    transfer.transactions[last].responseEnd = context.settings.now()
    transfer.transactions[last].countOfResponseBodyBytesAfterDecoding = Int64(delivery.bytes.count)
  }

  /// Delivers the next bytes of a cached body, unless the transfer waits or its readers are full.
  func deliver(_ transfer: Transfer) -> TransferAction {
    guard transfer.machine.lifecycle.isFree, let delivery = transfer.caching.delivery, !delivery.isReading,
      let cache = transfer.session.cache
    else { return .wait }
    guard !delivery.rest.isEmpty else {
      endDelivery(to: transfer)
      return .settle(nil)
    }
    guard transfer.sink?.isFull != true, transfer.received.live?.requestCapacity() != false else {
      return .wait
    }
    transfer.caching.delivery?.isReading = true
    let task = transfer.task
    if mayLink(transfer, delivery), let bodies = transfer.session.bodies.local,
      let file = cache.file(of: delivery.stored)
    {
      link(transfer, file.file, file.lease, delivery.stored, in: bodies)
      return .wait
    }
    let rest = delivery.rest
    cache.read(delivery.stored, rest.lowerBound..<min(rest.upperBound, rest.lowerBound + Self.deliveryPiece))
    {
      [weak self] bytes in
      guard let self else { return }
      context.resume(task) { delivered($0, bytes) }
    }
    return .wait
  }

  private static let deliveryPiece: Int64 = 1 << 20

  private func delivered(_ transfer: Transfer, _ bytes: ArraySlice<UInt8>?) -> TransferAction {
    guard transfer.state.isParked, transfer.caching.delivery != nil else { return .wait }
    transfer.caching.delivery?.isReading = false
    guard let bytes, !bytes.isEmpty else { return lost(transfer) }
    transfer.caching.delivery?.offset += Int64(bytes.count)
    let isTaken = bytes.withUnsafeBytes { transfer.sink?.append($0, drained: transfer.drained) ?? true }
    guard isTaken else {
      return .finish(
        TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: transfer.request.url))
    }
    return deliver(transfer)
  }

  /// Removes a cached response that cannot be read. The request is sent unless the task has received bytes.
  private func lost(_ transfer: Transfer) -> TransferAction {
    if let stored = transfer.caching.delivery?.stored { transfer.session.cache?.remove(stored) }
    transfer.caching.delivery = nil
    guard transfer.sink?.size ?? 0 == 0 else {
      return .finish(
        TransferError(
          .networkConnectionLost, "the cached body no longer exists", failingURL: transfer.request.url))
    }
    return .sendWithoutCache
  }

  // MARK: Links

  /// Returns whether the cached body can be linked into the task's files. A link copies no bytes.
  private func mayLink(_ transfer: Transfer, _ delivery: CachedBodyDelivery) -> Bool {
    delivery.offset == 0 && delivery.bytes == 0..<delivery.stored.size
      && delivery.stored.size > Int64(context.settings.smallBodyLimit)
      && transfer.sink?.size == 0 && !transfer.limits.areAny
      && delivery.stored.size <= context.settings.maximumBodySize
  }

  private func link(
    _ transfer: Transfer, _ file: LocalFile, _ lease: CacheLease, _ stored: CachedResponse,
    in bodies: any LocalBlobs
  ) {
    // The remaining steps are those of every received body.
    endDelivery(to: transfer)
    let (task, draft) = (transfer.task, transfer.key(.draft))
    let (size, digest) = (stored.size, stored.sha256)
    context.settings.pool.submit { [mailbox = context.mailbox, pool = context.settings.pool] in
      let body = withExtendedLifetime(lease) {
        Result { () throws(BlobError) in
          try BlobWriter(adopting: file, as: draft, size: size, sha256: digest, in: bodies, on: pool)
        }
      }
      mailbox.post(.linked(task, try? body.get()))
    }
  }

  func linked(_ transfer: Transfer, _ body: BlobWriter?) -> TransferAction {
    guard transfer.state.isParked, let delivery = transfer.caching.delivery else {
      body?.discard()
      return .wait
    }
    transfer.caching.delivery?.isReading = false
    guard let body else { return lost(transfer) }
    transfer.caching.delivery?.offset = delivery.stored.size
    transfer.sink?.adopt(body, size: delivery.stored.size)
    return deliver(transfer)
  }

  // MARK: Background revalidation

  /// Revalidates a stale response with the origin, in a transfer that belongs to no task (RFC 5861 §3).
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
    // Without a delegate to ask, the result is not stored if the task's delegate would have been asked.
    job.revalidates = .init(stored: stored, policy: storagePolicy(stored, of: transfer))
    (job.delegate, job.requirements, job.retry) = (nil, nil, nil)
    (job.asksForResponses, job.asksForCaching) = (false, false)
    context.mailbox.post(.submit([job]))
  }

  private func storagePolicy(_ stored: CachedResponse, of transfer: Transfer) -> CacheStoragePolicy {
    if transfer.job.delegate?.asksForCaching == true { return .notAllowed }
    return transfer.session.cache?.isOnDisk(stored) == true ? .allowed : .allowedInMemoryOnly
  }
}
