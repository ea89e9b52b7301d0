package import HTTPFields
package import TransferModel

/// The effect of a response to a validation request on the stored response (RFC 9111 §4.3).
package enum Revalidation {
  package enum Outcome: Sendable, Equatable {
    /// The stored response is valid. The value has the updated fields (§4.3.4).
    case confirmed(CachedResponse)
    /// The 304 is about a different response. The cache deletes the stored one and sends the request without conditions.
    case mismatched
    /// The received response replaces the stored one.
    case replaced
    /// The server failed (§4.3.3). `mayServeStaleOnError` decides whether the stored response is served.
    case failed
  }

  package static func outcome(
    of head: CacheResponseHead, for stored: CachedResponse, request: CacheRequest
  ) -> Outcome {
    switch head.status {
    case 304:
      // If the client sent conditions of its own, a 304 without validators may be about the client's copy.
      let isNamed = ["ETag", "Last-Modified"].contains(where: head.headers.contains)
      guard selects(stored, head.headers), isNamed || !request.isConditional else { return .mismatched }
      return .confirmed(updated(stored, by: head, request: request))
    case 500...599: return .failed
    default: return .replaced
    }
  }

  /// Whether a 304 is about that stored response. A 304 without any validator counts as a match.
  package static func selects(_ stored: CachedResponse, _ headers: HTTPHeaders) -> Bool {
    let (tag, date) = (Validators.entityTag(headers), Validators.lastModified(headers))
    if let tag, let old = Validators.entityTag(stored.headers) {
      // A strong tag requires strong equality (§4.3.4). The comparison is weak, because some origins weaken a tag when they encode on the
      // fly.
      return Validators.areWeaklyEqual(tag, old)
    }
    guard let date, let old = Validators.lastModified(stored.headers) else { return tag == nil }
    return date == old
  }

  /// Returns the stored response, updated with the fields of a newer response (§3.2).
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
        response.addVariant(on: field.name, of: request)
      }
    }
    return response
  }

  package enum HeadOutcome: Sendable, Equatable {
    case freshened(CachedResponse)
    /// The origin has another version. The cache deletes the stored response.
    case invalidated
    case unaffected
  }

  /// Returns the effect of a response to HEAD on the stored response to GET (§4.3.5).
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

  /// Whether a stale response may be served because the origin failed (RFC 5861 §4).
  /// - Parameter status: the status of the failed response; `nil` if no response came.
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
