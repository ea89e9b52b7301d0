internal import HTTPFields

/// The combination of two parts of one version of a resource to a larger part or the whole (RFC 9111 §3.4).
package struct PartialContent: Sendable, Equatable {
  package enum Source: Sendable { case stored, received }
  /// A range of bytes of one of the two bodies.
  package struct Piece: Sendable, Equatable {
    package let source: Source
    package let bytes: Range<Int64>
  }

  /// The metadata of the combined response. The digest of its body is still empty.
  package let response: CachedResponse
  /// The pieces of the combined body, in order.
  package let pieces: [Piece]

  /// Combines a stored part with a received one.
  ///
  /// - Parameter size: the number of received bytes of the new body.
  /// - Returns: `nil` if the parts belong to different versions or have a gap between them, or if the new part adds nothing.
  package init?(
    _ stored: CachedResponse, with head: CacheResponseHead, size: Int64, request: CacheRequest
  ) {
    guard head.status == 206, size > 0, stored.hasRanges, let held = stored.part,
      let validator = stored.strongValidator,
      var new = RangeJoin.range(
        of: head.headers, validator: validator, total: held.total, answersIfRange: false),
      size <= new.count
    else { return nil }
    new.last = new.first + size - 1
    guard new.first <= held.last + 1, new.last >= held.first - 1 else { return nil }
    let joined = ByteRange(
      first: min(held.first, new.first), last: max(held.last, new.last), total: held.total ?? new.total)
    guard joined.count > held.count, joined.last < joined.total ?? .max else { return nil }
    pieces = Self.pieces(held, new)
    response = Self.joined(stored, joined, head, request)
  }

  private static func pieces(_ held: ByteRange, _ new: ByteRange) -> [Piece] {
    var pieces = [Piece(source: .stored, bytes: 0..<held.count)]
    if new.first < held.first {
      pieces.insert(Piece(source: .received, bytes: 0..<held.first - new.first), at: 0)
    }
    if new.last > held.last {
      pieces.append(Piece(source: .received, bytes: held.last + 1 - new.first..<new.count))
    }
    return pieces
  }

  private static func joined(
    _ stored: CachedResponse, _ range: ByteRange, _ head: CacheResponseHead, _ request: CacheRequest
  ) -> CachedResponse {
    let updated = Revalidation.updated(stored, by: head, request: request)
    var headers = updated.headers
    headers.remove("Content-Length")
    if let total = range.total { headers.append("Content-Length", String(total)) }
    return CachedResponse(
      id: CachedResponse.newID(), url: stored.url, status: stored.status, httpVersion: head.httpVersion,
      headers: headers, vary: updated.vary, requestTime: head.requestTime, responseTime: head.responseTime,
      size: range.count, sha256: "", part: range.isWhole ? nil : range)
  }
}
