internal import Curl
internal import HTTPCache
internal import HTTPFields

/// An answer as the session's cache would have it. Looks at what is stored, and changes nothing.
struct StorableAnswer {
  let store: SessionCache
  /// That was answered, as the cache sees it.
  let request: CacheRequest
  /// As it came.
  let head: CacheResponseHead
  /// Those that the delegate wants stored; nil: the answer's own.
  var fields: HTTPHeaders?
  /// Nobody said who asks.
  var isAnonymous = true
  /// The next who asks is no other.
  var isOfWhoAsks = true
  var dependsOnCookie = false

  init(store: SessionCache, request: CacheRequest, head: CacheResponseHead) {
    self.store = store
    self.request = request
    self.head = head
  }

  /// What would be stored of the answer, and so much of its body; nil where nothing may.
  /// - Parameter isAsked: the delegate is asked about it. It is about an answer, too, that was given to credentials that nobody keeps;
  ///   that one is not stored whatever it says, since it could answer only those who come without them.
  func response(size: Int64, sha256: String, isComplete: Bool, isAsked: Bool = false) -> CachedResponse? {
    var seen = head
    if let fields { seen.headers = StoredFields.changed(seen.headers, to: fields) }
    guard store.fits(size), isAsked || isOfWhoAsks,
      Storability.mayStore(request, seen, size: size, isComplete: isComplete),
      isAnonymous || !(Vary.names(head.headers) ?? []).contains("authorization")
    else { return nil }
    var response = CachedResponse(
      answering: request, seen, size: size, sha256: sha256, isComplete: isComplete)
    // A session may act for several users: what one was shown is for nobody else.
    response.depend(on: "authorization", of: request)
    if dependsOnCookie { response.depend(on: "cookie", of: request) }
    guard isComplete || store.mayComplete(response) else { return nil }
    return response
  }

  /// What is stored of the same version, where this is a part of it.
  func heldVersion(of part: CachedResponse) -> CachedResponse? {
    guard !part.isComplete, let validator = part.strongValidator else { return nil }
    return store.variants(of: part.url).first { $0.key == part.key && $0.strongValidator == validator }
  }
}

/// Changes what is stored by what an answer says of it.
struct CacheUpkeep {
  let store: SessionCache
  let url: CurlURL

  /// - Parameter request: one for a head alone, whose answer freshens what is stored (RFC 9111 §4.3.5).
  func heed(_ head: CacheResponseHead, to method: String, freshening request: CacheRequest?) {
    for url in Invalidation.urls(
      after: method, status: head.status, url: url.text, headers: head.headers,
      resolve: { try? url.resolve($0).text })
    { store.remove(url) }
    if let request { freshen(head, request) }
  }

  private func freshen(_ head: CacheResponseHead, _ request: CacheRequest) {
    for stored in store.variants(of: request.url) {
      switch Revalidation.outcome(ofHead: head, for: stored, request: request) {
      case .freshened(let updated): store.update(updated)
      case .invalidated: store.remove(stored)
      case .unaffected: break
      }
    }
  }
}
