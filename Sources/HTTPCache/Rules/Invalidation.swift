package import HTTPFields

/// The stored responses that an unsafe request invalidates (RFC 9111 §4.4).
package enum Invalidation {
  private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE"]

  /// Returns the URLs whose stored responses become invalid.
  /// - Parameter resolve: resolves a reference against the request's URL; `nil` for an invalid reference.
  package static func urls(
    after method: String, status: Int, url: String, headers: HTTPHeaders, resolve: (String) -> String?
  ) -> [String] {
    guard !safeMethods.contains(method), (200...399).contains(status) else { return [] }
    let url = CacheRequest.key(url)
    let others = ["Location", "Content-Location"].compactMap { headers.all($0).first }
      .compactMap(resolve).map(CacheRequest.key)
      // An origin must not invalidate the responses of another origin.
      .filter { $0 != url && origin($0) != nil && origin($0) == origin(url) }
    return [url] + others
  }

  /// Returns the scheme, host and port of an absolute URL, in the form that RFC 9110 §4.3.1 compares.
  static func origin(_ url: String) -> String? {
    guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url[colon...].hasPrefix("://") else {
      return nil
    }
    let scheme = url[..<colon].lowercased()
    let rest = url.utf8[url.utf8.index(colon, offsetBy: 3)...]
    let authority = rest.prefix { !"/?#".utf8.contains($0) }
    let place = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.utf8After($0)...] }
    let text = String(decoding: place ?? authority, as: UTF8.self).lowercased()
    let hasPort = text.lastIndex(of: ":").map { !text[$0...].contains("]") } ?? false
    if hasPort, !text.hasSuffix(":") { return scheme + "://" + text }
    let host = text.hasSuffix(":") ? String(text.dropLast()) : text
    return scheme + "://" + host + (scheme == "https" ? ":443" : ":80")
  }
}

extension Substring.UTF8View {
  fileprivate func utf8After(_ index: Index) -> Index { self.index(after: index) }
}
