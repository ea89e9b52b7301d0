internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// What the session's cache says about a request before it goes out. Pure.
struct CacheLookup {
  /// What is known of what is stored for the URL.
  enum Shelf: Equatable {
    /// What is stored is still being read.
    case opening
    /// Something is on its way there.
    case storing
    case ready([CachedResponse])
  }
  enum Verdict: Equatable {
    /// It goes out; the cache takes part in what comes of it, or does not.
    case load(CacheUse?)
    /// Asked again once the shelf is ready.
    case wait(Shelf)
    /// What is stored answers.
    case serve(CachedResponse, ServedResponse, CacheUse)
    /// It answers, and the origin is asked meanwhile with these fields.
    case serveWhileAsking(CachedResponse, ServedResponse, CacheUse, [HTTPHeaders.Field])
    /// Nothing that is stored answers, and nobody else may be asked.
    case refuse
    /// It was to ask about something stored, and leads elsewhere now: that is another response.
    case leave
  }

  let request: CacheRequest
  /// What a request for nobody in particular asks about.
  var asksAbout: CachedResponse?
  /// Only what becomes whole here is worth it. A delegate that is asked is asked about the whole.
  var mayComplete = false

  /// - Parameter fits: whether what is there in part has room as a whole.
  func verdict(on shelf: Shelf, at now: Timestamp, fits: (CachedResponse) -> Bool) -> Verdict {
    var use = CacheUse(request)
    if let asksAbout {
      guard asksAbout.url == request.url else { return .leave }
      (use.candidate, use.fields) = (asksAbout, asksAbout.conditions)
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
        return .serveWhileAsking(stored, served, use, fields)
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

  /// What is stale may do where the origin fails, also where there is nothing to ask about it.
  private func staleCandidate(_ variants: [CachedResponse]) -> CachedResponse? {
    guard request.policy == .useProtocolCachePolicy, request.method == "GET", !request.isConditional else {
      return nil
    }
    return Vary.select(variants, for: request.headers).first { ServedResponse.isPossible($0, for: request) }
  }
}
