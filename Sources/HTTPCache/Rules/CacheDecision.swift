package import HTTPFields
package import TransferModel

/// The way to serve a request, given the stored responses (RFC 9111 §4).
package enum CacheDecision: Sendable, Equatable {
  /// Send the request to the origin with these additional fields.
  case load([HTTPHeaders.Field])
  /// Serve the stored response, by the rules of `ServedResponse`.
  case use(CachedResponse)
  /// Serve the stale response, and revalidate it at the same time (RFC 5861 §3).
  case useWhileRevalidating(CachedResponse, [HTTPHeaders.Field])
  /// Ask the origin whether the stored response is still valid.
  case revalidate(CachedResponse, [HTTPHeaders.Field])
  /// Request the missing bytes of the body (§3.4).
  case loadMissing(CachedResponse, [HTTPHeaders.Field])
  /// Fail the request: the policy forbids the network, and no stored response matches.
  case fail

  /// Decides how to serve a request.
  /// - Parameter variants: the stored responses for the request's URL.
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

  /// Returns a directive for intermediate caches, unless the client sends its own.
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
    // A reload need not revalidate an immutable response while the response is fresh (RFC 8246 §2).
    let isYoung =
      freshness.age <= Double(asked.maxAge ?? .max) || control.immutable && freshness.isFresh
    guard isYoung else { return validate(stored) }
    if freshness.isFresh {
      return -freshness.staleness >= Double(asked.minFresh ?? 0) ? .use(stored) : validate(stored)
    }
    // A stale response needs explicit permission, and no directive that forbids it (§4.2.4).
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
    // A HEAD request needs no conditions, because its response updates the stored one anyway (§4.3.5).
    guard mayLoad, request.method == "GET", !stored.conditions.isEmpty else { return load }
    return .revalidate(stored, stored.conditions + (isReload ? unlessAsked("max-age=0") : []))
  }

  /// Requests the missing bytes before or after the stored part. If bytes are missing on both sides, the whole body is loaded.
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
