internal import Curl
internal import HTTPCache
internal import HTTPFields

/// A response in the form that the session's cache stores. Reads the cache and does not change it.
struct StorableResponse {
  let store: SessionCache
  /// The request in the form that the cache uses.
  let request: CacheRequest
  /// The head as received.
  let head: CacheResponseHead
  /// The header fields that the delegate wants stored; `nil` for the response's own.
  var fields: HTTPHeaders?
  /// Whether the request had no credential.
  var isAnonymous = true
  /// Whether the credential is in the request, or is the one that the session's later requests to this origin will have.
  var matchesLaterCredential = true
  var dependsOnCookie = false

  init(store: SessionCache, request: CacheRequest, head: CacheResponseHead) {
    self.store = store
    self.request = request
    self.head = head
  }

  /// Returns the response to store, with this much of its body; `nil` if it may not be stored.
  /// - Parameter isAsked: Whether the delegate is asked. The delegate is also asked about a response to a credential that the session
  ///   does not
  /// keep. That response is not stored, whatever the answer: it could only answer requests without the credential.
  func response(size: Int64, sha256: String, isComplete: Bool, isAsked: Bool = false) -> CachedResponse? {
    var seen = head
    if let fields { seen.headers = StoredFields.changed(seen.headers, to: fields) }
    guard store.fits(size), isAsked || matchesLaterCredential,
      Storability.mayStore(request, seen, size: size, isComplete: isComplete),
      isAnonymous || !(Vary.names(head.headers) ?? []).contains("authorization")
    else { return nil }
    var response = CachedResponse(
      answering: request, seen, size: size, sha256: sha256, isComplete: isComplete)
    // A session may act for several users, and a response must reach only its own.
    response.addVariant(on: "authorization", of: request)
    if dependsOnCookie { response.addVariant(on: "cookie", of: request) }
    guard isComplete || store.mayComplete(response) else { return nil }
    return response
  }

  /// Returns the stored response of the same version that this part belongs to.
  func heldVersion(of part: CachedResponse) -> CachedResponse? {
    guard !part.isComplete, let validator = part.strongValidator else { return nil }
    return store.variants(of: part.url).first { $0.key == part.key && $0.strongValidator == validator }
  }
}

/// Applies a received response to the stored ones.
struct CacheUpdater {
  let store: SessionCache
  let url: CurlURL

  /// - Parameter request: A HEAD request, whose response updates the stored response (RFC 9111 §4.3.5); `nil` for other methods.
  func update(_ head: CacheResponseHead, to method: String, freshening request: CacheRequest?) {
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
