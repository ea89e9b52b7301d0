internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// The lookup of a request in the session's cache, before the request is sent. Pure.
struct CacheLookup {
  /// The stored responses for the URL.
  enum StoredState: Equatable {
    /// The index of the cache is being read.
    case opening
    /// A response for the URL is being stored.
    case storing
    case ready([CachedResponse])
  }
  enum NextStep: Equatable {
    /// Send the request, with the cache's part in it or without the cache.
    case load(CacheTransaction?)
    /// Look up again when the stored responses are known.
    case wait(StoredState)
    /// Answer with a stored response.
    case serve(CachedResponse, ServedResponse, CacheTransaction)
    /// Answer with a stored response, and revalidate it meanwhile with these fields.
    case serveWhileRevalidating(CachedResponse, ServedResponse, CacheTransaction, [HTTPHeaders.Field])
    /// No stored response answers, and the network may not be used.
    case refuse
    /// Cancel a background revalidation that was redirected to another URL.
    case bypass
  }

  let request: CacheRequest
  /// The stored response that a background revalidation is about.
  var revalidatedResponse: CachedResponse?
  /// Whether a partial response may be completed. This needs a data task whose delegate is not asked about caching.
  var mayComplete = false

  /// - Parameter fits: Returns whether the whole of a partial response fits into the cache.
  func nextStep(on shelf: StoredState, at now: Timestamp, fits: (CachedResponse) -> Bool) -> NextStep {
    var use = CacheTransaction(request)
    if let revalidatedResponse {
      guard revalidatedResponse.url == request.url else { return .bypass }
      (use.candidate, use.fields) = (revalidatedResponse, revalidatedResponse.conditions)
      return .load(use)
    }
    guard case .ready(let variants) = shelf else { return .wait(shelf) }
    switch CacheDecision(for: request, stored: variants, at: now) {
    case .load(let fields):
      use.fields = fields
      use.candidate = staleCandidate(variants)
    case .use(let stored):
      if let served = ServedResponse(stored, for: request, at: now) { return .serve(stored, served, use) }
    case .useWhileRevalidating(let stored, let fields):
      if let served = ServedResponse(stored, for: request, at: now) {
        return .serveWhileRevalidating(stored, served, use, fields)
      }
    case .revalidate(let stored, let fields): (use.candidate, use.fields) = (stored, fields)
    case .loadMissing(let stored, let fields):
      if mayComplete, fits(stored) {
        (use.candidate, use.fields, use.completesCandidate) = (stored, fields, true)
      }
    case .fail: return .refuse
    }
    return .load(use)
  }

  /// Returns a stale response that may answer if the origin fails, even if it cannot be revalidated.
  private func staleCandidate(_ variants: [CachedResponse]) -> CachedResponse? {
    guard request.policy == .useProtocolCachePolicy, request.method == "GET", !request.isConditional else {
      return nil
    }
    return Vary.select(variants, for: request.headers).first { ServedResponse.isPossible($0, for: request) }
  }
}
