package import TransferModel

/// A stored response as a request is answered with it.
package struct ServedResponse: Sendable, Equatable {
  package let status: Int
  package let headers: HTTPHeaders
  /// Which of the bytes that are stored are its body.
  package let body: Range<Int64>

  /// Nil where it cannot answer that request: a range that is not here, several ranges, a version other than If-Range's,
  /// or the whole of what is only here in part.
  package init?(_ stored: CachedResponse, for request: CacheRequest, at now: Timestamp) {
    var headers = Self.headers(of: stored, at: now)
    guard request.method == "GET", let field = request.headers["Range"] else {
      // Range means something to GET only (RFC 9110 §14.2).
      guard stored.isComplete else { return nil }
      self.init(200, stored, headers, body: 0..<(request.method == "HEAD" ? 0 : stored.size))
      return
    }
    guard stored.hasRanges, Self.allowsRange(stored, request), let range = RangeRequest(field) else {
      return nil
    }
    let held = stored.part ?? ByteRange(first: 0, last: stored.size - 1, total: stored.size)
    switch range.resolve(total: held.total) {
    case .unknown: return nil
    case .unsatisfiable:
      guard stored.isComplete else { return nil }
      headers.remove("Content-Length")
      headers.append("Content-Length", "0")
      headers.append("Content-Range", "bytes */\(stored.size)")
      self.init(416, stored, headers, body: 0..<0)
    case .range(let first, let last):
      guard first >= held.first, last <= held.last else { return nil }
      let sent = ByteRange(first: first, last: last, total: held.total)
      headers.remove("Content-Length")
      headers.append("Content-Length", String(sent.count))
      headers.append("Content-Range", sent.contentRange)
      self.init(206, stored, headers, body: first - held.first..<last + 1 - held.first)
    }
  }

  private init(_ status: Int, _ stored: CachedResponse, _ headers: HTTPHeaders, body: Range<Int64>) {
    self.status = status == 200 ? stored.status : status
    self.headers = headers
    self.body = body
  }

  /// The condition of If-Range holds, or there is none (RFC 9110 §13.1.5).
  private static func allowsRange(_ stored: CachedResponse, _ request: CacheRequest) -> Bool {
    request.headers["If-Range"].map { $0 == stored.strongValidator } ?? true
  }

  /// The stored fields with the Age of this moment (RFC 9111 §5.1).
  package static func headers(of stored: CachedResponse, at now: Timestamp) -> HTTPHeaders {
    var headers = stored.headers
    headers.remove("Age")
    let age = Freshness.currentAge(of: stored, at: now)
    headers.append("Age", String(min(Int64(age), FieldList.maximumSeconds)))
    return headers
  }
}
