internal import Curl
internal import HTTPCache
internal import TransferModel

/// What the session's cache has to do with a request.
struct CacheUse {
  /// As the cache sees it.
  let request: CacheRequest
  /// Stored, and asked about or completed by what comes from the origin.
  var candidate: CachedResponse?
  /// The candidate is there in part: the rest is on its way, and nobody is shown that.
  var completesCandidate = false
  /// How the wire ended before all of the rest came.
  var failure: TransferError?
  /// What the request carries on its account.
  var fields: [HTTPHeaders.Field] = []
  /// Answers in place of what the origin says.
  var answer: CachedResponse?

  init(_ request: CacheRequest) { self.request = request }
}

/// A stored response on its way to a task.
struct CachedDelivery {
  let stored: CachedResponse
  /// Which of its bytes are the body.
  let bytes: Range<Int64>
  var offset: Int64 = 0
  /// Nothing more is read of it.
  var isEnded = false
  /// A piece of it is being read.
  var isReading = false

  var rest: Range<Int64> { bytes.lowerBound + offset..<bytes.upperBound }
}

extension Transfer {
  /// What came is being put together with what was stored.
  var isJoining: Bool { stage == .parked && combining != nil }

  // MARK: Asking

  var cachePolicy: CachePolicy { request.cachePolicy ?? job.configuration.requestCachePolicy }

  /// The request as the cache sees it; nil where it has no say.
  func cacheRequest() -> CacheRequest? {
    guard request.body == nil, ["GET", "HEAD"].contains(request.method), job.resumePoint == nil else {
      return nil
    }
    var headers = outgoingHeaders
    if !headers.contains("Authorization"), case .password(let user, let password) = request.credential?.kind {
      headers.append("Authorization", "\(user):\(password)")
    }
    return CacheRequest(
      url: url.text, method: request.method, headers: headers,
      policy: cachePolicy)
  }

  /// The fields that a request goes out with, but for what says who sends it.
  var outgoingHeaders: HTTPHeaders {
    var defaults = job.configuration.httpAdditionalHeaders
    if hasLeftOrigin { for name in Redirect.credentialFields { defaults.remove(name) } }
    var headers = request.headers.merging(defaults: defaults)
    if !headers.contains("Cookie"), let cookies = cookieHeader() { headers.append("Cookie", cookies) }
    for field in cache?.fields ?? [] { headers.append(field.name, field.value) }
    return headers
  }

  // MARK: Hearing

  /// The head as the cache sees it.
  func cacheHead(_ head: ResponseHead) -> CacheResponseHead {
    CacheResponseHead(
      status: head.status, httpVersion: head.httpVersion, headers: head.headers, requestTime: fetchStart,
      responseTime: headTime)
  }

  /// What an answer means for what is stored. True where something that is stored answers in its place.
  func isAnsweredByCache(_ head: ResponseHead) -> Bool {
    guard let store = session.cache else { return false }
    for url in Invalidation.urls(
      after: request.method, status: head.status, url: url.text, headers: head.headers,
      resolve: { try? self.url.resolve($0).text })
    { store.remove(url) }
    guard let use = cache else { return false }
    let seen = cacheHead(head)
    if request.method == "HEAD" { freshen(store, seen, use.request) }
    guard let candidate = use.candidate else { return false }
    if use.completesCandidate {
      // The rest came: nobody is shown a part, the whole is made of both.
      switch head.status {
      case 206 where Storability.permits(use.request, seen): break
      case 206, 416:
        drop(candidate, from: store)
        return true
      default:
        cache?.candidate = nil
        return false
      }
      sink = tools.makeSink(self, nil)
      return true
    }
    switch Revalidation.outcome(of: seen, for: candidate, request: use.request) {
    case .confirmed(let updated):
      if Storability.permits(use.request, seen) { store.update(updated) }
      cache?.answer = updated
      return true
    case .mismatched:
      drop(candidate, from: store)
      return true
    case .replaced:
      // What is not stored may be right still: what was stored is not.
      if (200...299).contains(head.status) || [404, 410].contains(head.status) { store.remove(candidate) }
      return false
    case .failed: return mayAnswerOnError(status: head.status)
    }
  }

  /// It is of no use: the request goes out once more as if there were nothing.
  private func drop(_ candidate: CachedResponse, from store: SessionCache) {
    store.remove(candidate)
    resendWithoutCache()
    cutAt = .now + Self.redirectGrace
  }

  private func freshen(_ store: SessionCache, _ head: CacheResponseHead, _ request: CacheRequest) {
    for stored in store.variants(of: request.url) {
      switch Revalidation.outcome(ofHead: head, for: stored, request: request) {
      case .freshened(let updated): store.update(updated)
      case .invalidated: store.remove(stored)
      case .unaffected: break
      }
    }
  }

  /// The origin fails: something stale may do (RFC 5861 §4). True where that is so.
  func mayAnswerOnError(status: Int?) -> Bool {
    guard let use = cache, let candidate = use.candidate, !use.completesCandidate,
      Revalidation.mayServeStaleOnError(candidate, for: use.request, status: status, at: tools.now())
    else { return false }
    cache?.answer = candidate
    cutAt = .now + Self.redirectGrace
    return true
  }

  // MARK: Being answered

  /// Shows what is stored as the answer.
  func beginDelivery(of stored: CachedResponse, _ served: ServedResponse) {
    delivery = CachedDelivery(stored: stored, bytes: served.body)
    let head = ResponseHead(httpVersion: stored.httpVersion, status: served.status, headers: served.headers)
    self.head = head
    let now = tools.now()
    facts.append(.began(task, at: fetchStart))
    var transaction = TransactionMetrics()
    (transaction.url, transaction.method, transaction.status) = (request.url, request.method, served.status)
    (transaction.fetchStart, transaction.responseStart, transaction.responseEnd) = (fetchStart, now, now)
    transaction.isFromCache = true
    transactions.append(transaction)
    var response = response(of: head)
    response.fromCache = true
    announce(response)
  }

  /// All of a stored body is here, or lies where it will be.
  func endDelivery() {
    guard let last = transactions.indices.last, transactions[last].isFromCache, delivery?.isEnded == false
    else { return }
    delivery?.isEnded = true
    transactions[last].responseEnd = tools.now()
    transactions[last].countOfResponseBodyBytesAfterDecoding = delivery.map { Int64($0.bytes.count) } ?? 0
  }

  // MARK: Storing

  /// What the answer was given for is in the request, or is what the session says to that origin from now on: the next who
  /// asks is no other.
  private var isOfWhoAsks: Bool {
    guard let attempt = authenticator.attempt(.server), request.credential == nil,
      !request.headers.contains("Authorization"), let credential = attempt.credential
    else { return true }
    return job.configuration.urlCredentialStorage
      && credential.isSame(as: tools.credentials.credential(for: attempt.space, in: job.session))
  }

  /// What would be stored of the answer, and so much of its body; nil where nothing may.
  /// - Parameter isAsked: the delegate is asked about it. It is about an answer, too, that was given to credentials that nobody keeps;
  ///   that one is not stored whatever it says, since it could answer only those who come without them.
  func cacheable(size: Int64, sha256: String, isComplete: Bool, isAsked: Bool = false) -> CachedResponse? {
    guard let store = session.cache, let use = cache, let head, multipart == nil, job.kind == .data,
      request.method == "GET"
    else { return nil }
    var seen = cacheHead(head)
    if let storedHeaders { seen.headers = StoredFields.changed(seen.headers, to: storedHeaders) }
    guard store.fits(size), isAsked || isOfWhoAsks,
      Storability.mayStore(use.request, seen, size: size, isComplete: isComplete),
      authenticator.isAnonymous || !(Vary.names(head.headers) ?? []).contains("authorization")
    else { return nil }
    var response = CachedResponse(
      answering: use.request, seen, size: size, sha256: sha256, isComplete: isComplete)
    // A session may act for several users: what one was shown is for nobody else.
    response.depend(on: "authorization", of: use.request)
    if request.headers.contains("Cookie") { response.depend(on: "cookie", of: use.request) }
    guard isComplete || store.mayComplete(response) else { return nil }
    return response
  }

  /// What is stored of the same version, where this is a part of it.
  func heldVersion(of part: CachedResponse) -> CachedResponse? {
    guard !part.isComplete, let validator = part.strongValidator else { return nil }
    return session.cache?.variants(of: part.url).first {
      $0.key == part.key && $0.strongValidator == validator
    }
  }

  /// What is stored, and so many bytes that came.
  func joined(_ held: CachedResponse, size: Int64) -> PartialContent? {
    guard let use = cache, let head else { return nil }
    return PartialContent(held, with: cacheHead(head), size: size, request: use.request)
  }
}
