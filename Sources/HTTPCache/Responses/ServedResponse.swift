package import HTTPFields
package import TransferModel

/// A stored response in the form that serves one request.
package struct ServedResponse: Sendable, Equatable {
  package let status: Int
  package let headers: HTTPHeaders
  /// The range of the stored bytes that are the response's body.
  package let body: Range<Int64>

  /// The part of the stored body that serves the request.
  private enum Selection {
    case whole
    case range(ByteRange, Range<Int64>)
    case unsatisfiable
  }

  /// Makes the response to a request from a stored one.
  ///
  /// - Returns: `nil` if the request names several ranges, a missing range or another version (If-Range), or needs the whole of a
  ///   partial body.
  package init?(_ stored: CachedResponse, for request: CacheRequest, at now: Timestamp) {
    guard let part = Self.part(of: stored, for: request) else { return nil }
    var headers = Self.headers(of: stored, at: now)
    switch part {
    case .whole:
      (status, body) = (stored.status, 0..<(request.method == "HEAD" ? 0 : stored.size))
    case .range(let range, let bytes):
      headers.remove("Content-Length")
      headers.append("Content-Length", String(range.count))
      headers.append("Content-Range", range.contentRange)
      (status, body) = (206, bytes)
    case .unsatisfiable:
      headers.remove("Content-Length")
      headers.append("Content-Length", "0")
      headers.append("Content-Range", "bytes */\(stored.size)")
      (status, body) = (416, 0..<0)
    }
    self.headers = headers
  }

  /// Whether the stored response can serve the request.
  package static func isPossible(_ stored: CachedResponse, for request: CacheRequest) -> Bool {
    part(of: stored, for: request) != nil
  }

  private static func part(of stored: CachedResponse, for request: CacheRequest) -> Selection? {
    guard request.method == "GET", let field = request.headers.single("Range") else {
      // Only GET supports Range (RFC 9110 §14.2).
      return stored.isComplete ? .whole : nil
    }
    guard stored.hasRanges, allowsRange(stored, request), let range = RangeRequest(field) else { return nil }
    let held = stored.part ?? ByteRange(first: 0, last: stored.size - 1, total: stored.size)
    switch range.resolve(total: held.total) {
    case .unknown: return nil
    case .unsatisfiable: return stored.isComplete ? .unsatisfiable : nil
    case .range(let first, let last):
      guard first >= held.first, last <= held.last else { return nil }
      return .range(
        ByteRange(first: first, last: last, total: held.total), first - held.first..<last + 1 - held.first)
    }
  }

  /// Whether the request has no If-Range, or the condition is true (RFC 9110 §13.1.5).
  private static func allowsRange(_ stored: CachedResponse, _ request: CacheRequest) -> Bool {
    request.headers.single("If-Range").map { $0 == stored.strongValidator } ?? true
  }

  /// Returns the stored fields with the current Age (RFC 9111 §5.1).
  package static func headers(of stored: CachedResponse, at now: Timestamp) -> HTTPHeaders {
    var headers = stored.agelessHeaders
    let age = Freshness.currentAge(of: stored, at: now)
    headers.append("Age", String(min(Int64(age), FieldList.maximumSeconds)))
    return headers
  }
}
