package import HTTPFields
package import TransferModel

/// What is done about a request, given what is stored (RFC 9111 §4).
package enum CacheDecision: Sendable, Equatable {
  /// The network answers; these fields are added to the request.
  case load([HTTPHeaders.Field])
  /// What is stored answers, as `ServedResponse` says.
  case use(CachedResponse)
  /// It answers, though stale; meanwhile the origin is asked (RFC 5861 §3).
  case useWhileRevalidating(CachedResponse, [HTTPHeaders.Field])
  /// The origin is asked whether it still holds.
  case revalidate(CachedResponse, [HTTPHeaders.Field])
  /// The bytes that are not here are asked for (§3.4).
  case loadMissing(CachedResponse, [HTTPHeaders.Field])
  /// The network is not allowed, and nothing that is stored will do.
  case fail

  /// - Parameter variants: what is stored for the request's URL.
  package init(for request: CacheRequest, stored variants: [CachedResponse], at now: Timestamp) {
    self = Lookup(request: request, now: now).decide(variants)
  }
}

private struct Lookup {
  let request: CacheRequest
  let now: Timestamp

  func decide(_ variants: [CachedResponse]) -> CacheDecision {
    switch request.policy {
    case .reloadIgnoringLocalCacheData: return .load([])
    case .reloadIgnoringLocalAndRemoteCacheData: return .load(unlessAsked("no-cache", pragma: true))
    default: break
    }
    guard ["GET", "HEAD"].contains(request.method), !request.isConditional,
      let stored = Vary.select(variants, for: request.headers).first
    else { return load }
    guard ServedResponse.isPossible(stored, for: request) else { return missing(stored) }
    switch request.policy {
    case .returnCacheDataElseLoad, .returnCacheDataDontLoad: return .use(stored)
    case .reloadRevalidatingCacheData: return validate(stored)
    default: return protocolDecision(stored)
    }
  }

  private var mayLoad: Bool {
    request.policy != .returnCacheDataDontLoad && !request.control.onlyIfCached
  }

  private var load: CacheDecision {
    guard mayLoad else { return .fail }
    return .load(isReload ? unlessAsked("max-age=0") : [])
  }

  private var isReload: Bool { request.policy == .reloadRevalidatingCacheData }

  /// A directive for the caches on the way, where the client gave them none.
  private func unlessAsked(_ directive: String, pragma: Bool = false) -> [HTTPHeaders.Field] {
    var fields: [HTTPHeaders.Field] = []
    if !request.headers.contains("Cache-Control") {
      fields.append(.init(name: "Cache-Control", value: directive))
    }
    if pragma, !request.headers.contains("Pragma") { fields.append(.init(name: "Pragma", value: "no-cache")) }
    return fields
  }

  private func protocolDecision(_ stored: CachedResponse) -> CacheDecision {
    let (asked, control) = (request.control, stored.control)
    let freshness = Freshness(of: stored, at: now)
    guard !asked.noCache, !control.noCache else { return validate(stored) }
    // A reload need not ask about what never changes, while it is fresh (RFC 8246 §2).
    let isYoung =
      freshness.age <= Double(asked.maxAge ?? .max) || control.immutable && freshness.isFresh
    guard isYoung else { return validate(stored) }
    if freshness.isFresh {
      return -freshness.staleness >= Double(asked.minFresh ?? 0) ? .use(stored) : validate(stored)
    }
    // §4.2.4: stale only where somebody allows it and nobody forbids it.
    guard !control.mustRevalidate, asked.minFresh == nil else { return validate(stored) }
    if let limit = asked.maxStale {
      return freshness.staleness <= Double(limit) ? .use(stored) : validate(stored)
    }
    if asked.maxAge == nil, let limit = control.staleWhileRevalidate, freshness.staleness <= Double(limit) {
      return mayLoad ? .useWhileRevalidating(stored, stored.conditions) : .use(stored)
    }
    return validate(stored)
  }

  private func validate(_ stored: CachedResponse) -> CacheDecision {
    // An answer to HEAD freshens what is stored without conditions (§4.3.5).
    guard mayLoad, request.method == "GET", !stored.conditions.isEmpty else { return load }
    return .revalidate(stored, stored.conditions + (isReload ? unlessAsked("max-age=0") : []))
  }

  /// The rest of what is here from its start, or to its end; what is missing on both sides is loaded with the middle.
  private func missing(_ stored: CachedResponse) -> CacheDecision {
    guard mayLoad, request.method == "GET", !request.control.noStore, !request.headers.contains("Range"),
      stored.hasRanges,
      let part = stored.part, let validator = stored.strongValidator
    else { return load }
    let range: String
    if part.first == 0 {
      range = "bytes=\(part.last + 1)-"
    } else if part.last + 1 == part.total {
      range = "bytes=0-\(part.first - 1)"
    } else {
      return load
    }
    return .loadMissing(
      stored, [.init(name: "Range", value: range), .init(name: "If-Range", value: validator)])
  }
}
