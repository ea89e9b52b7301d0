package import HTTPFields
package import TransferModel

/// What an answer about a stored response means for it (RFC 9111 §4.3).
package enum Revalidation {
  package enum Outcome: Sendable, Equatable {
    /// Still right: what is stored, with its new fields (§4.3.4).
    case confirmed(CachedResponse)
    /// Not what is stored was confirmed: it is dropped, and the request sent without conditions.
    case mismatched
    /// The answer takes its place.
    case replaced
    /// The server could not say (§4.3.3): `mayServeStaleOnError` tells what then.
    case failed
  }

  package static func outcome(
    of head: CacheResponseHead, for stored: CachedResponse, request: CacheRequest
  ) -> Outcome {
    switch head.status {
    case 304:
      // One that answers the client's own conditions may be about what the client has.
      let isNamed = ["ETag", "Last-Modified"].contains(where: head.headers.contains)
      guard selects(stored, head.headers), isNamed || !request.isConditional else { return .mismatched }
      return .confirmed(updated(stored, by: head, request: request))
    case 500...599: return .failed
    default: return .replaced
    }
  }

  /// Whether a 304 is about that response. One without a validator is about the one that was asked for.
  package static func selects(_ stored: CachedResponse, _ headers: HTTPHeaders) -> Bool {
    let (tag, date) = (Validators.entityTag(headers), Validators.lastModified(headers))
    if let tag, let old = Validators.entityTag(stored.headers) {
      // A strong tag tells strongly equal ones, but for origins that weaken what they code on the fly.
      return Validators.areWeaklyEqual(tag, old)
    }
    guard let date, let old = Validators.lastModified(stored.headers) else { return tag == nil }
    return date == old
  }

  /// The stored response with the fields of an answer about it (§3.2).
  package static func updated(
    _ stored: CachedResponse, by head: CacheResponseHead, request: CacheRequest
  ) -> CachedResponse {
    var response = stored
    response.headers = StoredFields.updated(
      stored.headers, by: head.headers, responseTime: head.responseTime)
    response.requestTime = head.requestTime
    response.responseTime = head.responseTime
    if head.headers.contains("Vary") {
      response.vary = Vary.fields(of: response.headers, request: request.headers)
      for field in stored.vary where field.name == "authorization" {
        response.depend(on: field.name, of: request)
      }
    }
    return response
  }

  package enum HeadOutcome: Sendable, Equatable {
    case freshened(CachedResponse)
    /// It is another version now: what is stored is dropped.
    case invalidated
    case unaffected
  }

  /// What an answer to HEAD tells of what is stored for GET (§4.3.5).
  package static func outcome(
    ofHead head: CacheResponseHead, for stored: CachedResponse, request: CacheRequest
  ) -> HeadOutcome {
    guard request.method == "HEAD", head.status == 200, Vary.matches(stored, request.headers) else {
      return .unaffected
    }
    guard !request.control.noStore else { return .unaffected }
    let isSame = ["ETag", "Last-Modified"].allSatisfy { name in
      head.headers.single(name).map { $0 == stored.headers.single(name) } ?? true
    }
    guard isSame, hasLength(of: head.headers, stored), Storability.permits(request, head) else {
      return .invalidated
    }
    return .freshened(updated(stored, by: head, request: request))
  }

  private static func hasLength(of headers: HTTPHeaders, _ stored: CachedResponse) -> Bool {
    guard let new = headers.contentLength else { return true }
    if let old = stored.headers.contentLength { return new == old }
    guard CachedResponse.isPlain(headers), CachedResponse.isPlain(stored.headers) else { return true }
    let whole = stored.part.map(\.total) ?? stored.size
    return whole.map { new == $0 } ?? true
  }

  /// Whether what is stored may answer since the origin does not (RFC 5861 §4).
  /// - Parameter status: of the answer; nil where there was none.
  package static func mayServeStaleOnError(
    _ stored: CachedResponse, for request: CacheRequest, status: Int?, at now: Timestamp
  ) -> Bool {
    let (asked, control) = (request.control, stored.control)
    guard status.map([500, 502, 503, 504].contains) ?? true, request.policy == .useProtocolCachePolicy,
      !control.mustRevalidate, !control.noCache, !asked.noCache,
      ServedResponse.isPossible(stored, for: request),
      let limit = [control.staleIfError, asked.staleIfError].compactMap(\.self).max()
    else { return false }
    return Freshness(of: stored, at: now).staleness <= Double(limit)
  }
}
