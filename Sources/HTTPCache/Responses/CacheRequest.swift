package import HTTPFields
package import TransferModel

/// The parts of a request that a cache uses.
package struct CacheRequest: Sendable, Equatable {
  /// The cache key: the URL with scheme and query, without fragment (RFC 9111 §2).
  package let url: String
  package let method: String
  package let headers: HTTPHeaders
  package let policy: CachePolicy
  package let control: CacheControl

  package init(
    url: String, method: String = "GET", headers: HTTPHeaders = HTTPHeaders(),
    policy: CachePolicy = .useProtocolCachePolicy
  ) {
    self.url = Self.key(url)
    self.method = method
    self.headers = headers
    self.policy = policy
    control = CacheControl(request: headers)
  }

  /// Returns the URL without its fragment.
  package static func key(_ url: String) -> String {
    let utf8 = url.utf8
    guard let hash = utf8.firstIndex(of: UInt8(ascii: "#")) else { return url }
    return String(url[..<hash])
  }

  private static let conditions = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"]

  /// Whether the client validates a response of its own (RFC 9110 §13.1). If-Range counts only without Range.
  package var isConditional: Bool {
    Self.conditions.contains(where: headers.contains)
      || headers.contains("If-Range") && !headers.contains("Range")
  }
}
