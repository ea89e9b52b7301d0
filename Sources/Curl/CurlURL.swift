internal import CCurl
internal import CHandshake
internal import Glibc

/// A URL as libcurl parses it (RFC 3986 and extensions). The same parser serves for checks and for use.
package struct CurlURL: Sendable, Equatable {
  package enum Fault: Error, Sendable, Equatable {
    case malformed(String)
    /// The scheme is neither http nor https.
    case unsupportedScheme(String)
  }

  /// The normal form: invalid characters are percent-encoded, and international names are in their ASCII form (RFC 5891 §4.4).
  package let text: String
  package let scheme: String
  /// The host in lower case and ASCII, which identifies connections.
  package let host: String
  /// The explicit port, or the scheme's default.
  package let port: Int
  /// The user of the URL, decoded. `text` has neither user nor password.
  package let user: String?
  package let password: String?

  /// Scheme, host and port, which "same origin" compares (RFC 6454 §4).
  package var origin: String { "\(scheme)://\(host):\(port)" }
  /// Scheme, authority and path.
  package var withoutQuery: String { String(Substring(text.utf8.prefix { $0 != UInt8(ascii: "?") })) }

  package init(_ url: String) throws(Fault) {
    guard let handle = curl_url() else { throw .malformed("out of memory") }
    defer { curl_url_cleanup(handle) }
    guard !url.utf8.contains(0) else { throw .malformed("contains a zero byte") }
    let status = curl_url_set(handle, CURLUPART_URL, Self.encoding(url), Self.flags)
    guard status == CURLUE_OK else { throw Self.fault(status, url) }
    let scheme = Self.part(handle, CURLUPART_SCHEME)?.lowercased() ?? ""
    guard scheme == "http" || scheme == "https" else { throw .unsupportedScheme(scheme) }
    let host = Self.part(handle, CURLUPART_HOST) ?? ""
    guard !host.isEmpty else { throw .malformed("no host") }
    guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
      self = try Self.withASCIIHost(handle, of: url)
      return
    }
    self.scheme = scheme
    self.host = host.lowercased()
    guard let port = Self.part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) }),
      port > 0
    else { throw .malformed("bad port") }
    self.port = port
    user = try Self.login(handle, CURLUPART_USER)
    password = try Self.login(handle, CURLUPART_PASSWORD)
    for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_FRAGMENT] {
      curl_url_set(handle, part, nil, 0)
    }
    guard let text = Self.part(handle, CURLUPART_URL) else { throw .malformed("cannot be normalised") }
    self.text = Self.hasEmptyQuery(url) ? text + "?" : text
  }

  /// Returns the URL with the host's ASCII form, to which libcurl would connect. The URL is parsed again, because the form may be an
  /// address, or contain delimiters.
  private static func withASCIIHost(_ handle: OpaquePointer, of url: String) throws(Fault) -> CurlURL {
    // libidn2 reads names in the encoding of the thread's locale.
    let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
    let previous = locale.map { uselocale($0) }
    defer {
      if let previous { uselocale(previous) }
      if let locale { freelocale(locale) }
    }
    let flags = UInt32(CURLU_PUNYCODE)
    guard let host = part(handle, CURLUPART_HOST, flags), let text = part(handle, CURLUPART_URL, flags),
      host.utf8.allSatisfy(isNamed)
    else { throw .malformed("no host has this name") }
    return try CurlURL(hasEmptyQuery(url) ? text + "?" : text)
  }

  private static func isNamed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: "-._".utf8.contains(byte)
    }
  }

  package var hasUserInfo: Bool { user != nil || password != nil }

  /// The host that a certificate must name: without the brackets of an IPv6 address, and without the root's dot.
  package var tlsHost: String {
    let bare = host.hasPrefix("[") ? String(host.dropFirst().prefix { $0 != "]" }) : host
    return bare.hasSuffix(".") ? String(bare.dropLast()) : bare
  }

  /// The path and query, as in the request line.
  package var requestTarget: String {
    let authority = text.utf8.dropFirst(scheme.utf8.count + 3)
    return String(Substring(authority.drop { $0 != UInt8(ascii: "/") }))
  }

  /// Returns the absolute URL of a reference on a page at this URL (RFC 3986 §5.2.2).
  package func resolve(_ reference: String) throws(Fault) -> CurlURL {
    let reference = String(Substring(reference.utf8.prefix { $0 != UInt8(ascii: "#") }))
    guard !reference.isEmpty else { return self }
    // libcurl 8 removes dot segments when it resolves these references, even with CURLU_PATH_AS_IS.
    if reference.utf8.starts(with: "//".utf8) { return try CurlURL("\(scheme):\(reference)") }
    if reference.utf8.starts(with: "/".utf8) {
      return try CurlURL(text.dropLast(requestTarget.count) + reference)
    }
    if reference.utf8.starts(with: "?".utf8) { return try CurlURL(withoutQuery + reference) }
    guard Self.isRelativePath(reference) else { return try CurlURL(reference) }
    return try join(reference)
  }

  /// Resolves a relative path against this URL and removes dot segments from the result (RFC 3986 §5.2.4).
  private func join(_ path: String) throws(Fault) -> CurlURL {
    guard let handle = curl_url() else { throw .malformed("out of memory") }
    defer { curl_url_cleanup(handle) }
    guard !path.utf8.contains(0) else { throw .malformed("contains a zero byte") }
    curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_PATH_AS_IS))
    let flags = Self.flags & ~UInt32(CURLU_PATH_AS_IS)
    let status = curl_url_set(handle, CURLUPART_URL, Self.encoding(path), flags)
    guard status == CURLUE_OK, let joined = Self.part(handle, CURLUPART_URL) else {
      throw Self.fault(status, path)
    }
    return try CurlURL(Self.hasEmptyQuery(path) ? joined + "?" : joined)
  }

  /// A blank becomes `%20`, and libcurl 8 needs CURLU_ALLOW_SPACE for that. Dot segments stay in paths: object stores allow them in keys,
  /// and a signature covers the path as given.
  private static let flags = UInt32(
    CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_ALLOW_SPACE | CURLU_PATH_AS_IS)

  /// Percent-encodes bytes above 0x7F after the authority, in upper case (RFC 3986 §2.1), and writes the query's blanks as `%20`. Without
  /// this, libcurl would use lower case, and `+`, which only forms decode as a blank.
  private static func encoding(_ url: String) -> String {
    guard !url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x80 }) else { return url }
    let digits = Array("0123456789ABCDEF".utf8)
    let start = endOfAuthority(url)
    var bytes = Array(url.utf8[..<start])
    var isInQuery = false
    for byte in url.utf8[start...] {
      if byte == UInt8(ascii: "?") { isInQuery = true }
      if byte >= 0x80 || isInQuery && byte == UInt8(ascii: " ") {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the beginning of the path of a URL or a reference.
  private static func endOfAuthority(_ url: String) -> String.Index {
    let delimiters = "/?#".utf8
    let scheme = url.utf8.prefix { $0 != UInt8(ascii: ":") && !delimiters.contains($0) }
    var rest = url.utf8[scheme.endIndex...]
    if rest.first == UInt8(ascii: ":") { rest = rest.dropFirst() } else { rest = url.utf8[...] }
    guard rest.starts(with: "//".utf8) else { return url.startIndex }
    return rest.dropFirst(2).firstIndex { delimiters.contains($0) } ?? url.endIndex
  }

  /// Returns whether a reference begins with a path segment, and not with a scheme.
  private static func isRelativePath(_ reference: String) -> Bool {
    let scheme = reference.utf8.prefix { !":/?".utf8.contains($0) }
    return reference.utf8[scheme.endIndex...].first != UInt8(ascii: ":")
  }

  /// Returns whether the URL ends with an empty query. libcurl drops its question mark.
  private static func hasEmptyQuery(_ url: String) -> Bool {
    let url = url.utf8.prefix { $0 != UInt8(ascii: "#") }
    return url.last == UInt8(ascii: "?") && url.dropLast().allSatisfy { $0 != UInt8(ascii: "?") }
  }

  /// Returns libcurl's error. libcurl recognises a scheme only before slashes, so `mailto:` and `data:` are malformed for it.
  private static func fault(_ status: CURLUcode, _ url: String) -> Fault {
    let scheme = url.utf8.prefix { $0 != UInt8(ascii: ":") }
    let isScheme =
      scheme.count < url.utf8.count
      && scheme.enumerated().allSatisfy { index, byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: index > 0 && "0123456789+-.".utf8.contains(byte)  // RFC 3986 §3.1
        }
      }
    let name = Substring(scheme).lowercased()
    guard isScheme, !name.isEmpty, name != "http", name != "https" else {
      return .malformed(String(cString: curl_url_strerror(status)))
    }
    return .unsupportedScheme(name)
  }

  /// Returns the decoded user or password. libcurl returns no text if it has control characters, which is an error here.
  private static func login(_ handle: OpaquePointer, _ place: CURLUPart) throws(Fault) -> String? {
    guard part(handle, place) != nil else { return nil }
    guard let text = part(handle, place, UInt32(CURLU_URLDECODE)), !text.utf8.contains(0x7F) else {
      throw .malformed("control characters in the user or password")
    }
    return text
  }

  private static func part(_ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
