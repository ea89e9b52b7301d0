internal import CCurl

/// A URL as libcurl reads it (RFC 3986 plus): the one parser both for checks and for use.
package struct CurlURL: Sendable, Equatable {
  package enum Fault: Error, Sendable, Equatable {
    case malformed(String)
    /// The scheme is neither http nor https.
    case unsupportedScheme(String)
  }

  /// Normal form, ready for use: characters that may not stand in a URL are encoded.
  package let text: String
  package let scheme: String
  package let host: String
  /// The explicit port or the scheme's own.
  package let port: Int
  package let hasUserInfo: Bool

  /// Scheme, host and port: what "same origin" compares (RFC 6454 §4).
  package var origin: String { "\(scheme)://\(host):\(port)" }

  package init(_ url: String) throws(Fault) {
    guard let handle = curl_url() else { throw .malformed("out of memory") }
    defer { curl_url_cleanup(handle) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)
    guard !url.utf8.contains(0) else { throw .malformed("contains a zero byte") }
    let status = curl_url_set(handle, CURLUPART_URL, url, flags)
    guard status == CURLUE_OK else { throw .malformed(String(cString: curl_url_strerror(status))) }
    scheme = Self.part(handle, CURLUPART_SCHEME)?.lowercased() ?? ""
    guard scheme == "http" || scheme == "https" else { throw .unsupportedScheme(scheme) }
    host = Self.part(handle, CURLUPART_HOST)?.lowercased() ?? ""
    guard !host.isEmpty else { throw .malformed("no host") }
    guard let port = Self.part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) }),
      port > 0
    else { throw .malformed("bad port") }
    self.port = port
    hasUserInfo = Self.part(handle, CURLUPART_USER) != nil || Self.part(handle, CURLUPART_PASSWORD) != nil
    curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
    guard let text = Self.part(handle, CURLUPART_URL) else { throw .malformed("cannot be normalised") }
    self.text = text
  }

  /// The absolute URL that `reference` means on a page at this one (RFC 3986 §5.2).
  package func resolve(_ reference: String) throws(Fault) -> CurlURL {
    guard let handle = curl_url() else { throw .malformed("out of memory") }
    defer { curl_url_cleanup(handle) }
    guard !reference.utf8.contains(0) else { throw .malformed("contains a zero byte") }
    curl_url_set(handle, CURLUPART_URL, text, 0)
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)
    let status = curl_url_set(handle, CURLUPART_URL, reference, flags)
    guard status == CURLUE_OK, let resolved = Self.part(handle, CURLUPART_URL) else {
      throw .malformed(String(cString: curl_url_strerror(status)))
    }
    return try CurlURL(resolved)
  }

  private static func part(_ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
