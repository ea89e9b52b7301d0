package import HTTPFields
package import TransferModel

/// What a cache sees of a request.
package struct CacheRequest: Sendable, Equatable {
  /// With scheme and query, without a fragment: the key (RFC 9111 §2).
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

  /// The URL without its fragment.
  package static func key(_ url: String) -> String {
    let utf8 = url.utf8
    guard let hash = utf8.firstIndex(of: UInt8(ascii: "#")) else { return url }
    return String(url[..<hash])
  }

  private static let conditions = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"]

  /// The client validates what it has itself (RFC 9110 §13.1). If-Range counts where there is no range.
  package var isConditional: Bool {
    Self.conditions.contains(where: headers.contains)
      || headers.contains("If-Range") && !headers.contains("Range")
  }
}
