/// Name prefixes that state how the cookie was set (RFC 6265bis §5.4 and §5.7, steps 20 to 22).
enum CookiePrefix: String, CaseIterable {
  case secure = "__secure-"
  case host = "__host-"

  private init?(of text: String) {
    do {
      let bytes = text.utf8Span.span
      guard !bytes.isEmpty, bytes[0] == UInt8(ascii: "_") else { return nil }
    }
    guard let prefix = Self.allCases.first(where: { CookieText.starts(text, withoutCase: $0.rawValue) })
    else {
      return nil
    }
    self = prefix
  }

  /// Returns why a cookie must not have its name; `nil` if the name is valid.
  static func fault(_ cookie: Cookie, hasPath: Bool) -> String? {
    if cookie.name.isEmpty, CookiePrefix(of: cookie.value) != nil {
      return "must not be empty if the value begins with __Secure- or __Host-"
    }
    switch CookiePrefix(of: cookie.name) {
    case .secure where !cookie.isSecure: return "begins with __Secure-, so isSecure must be true"
    case .host where !(cookie.isSecure && cookie.isHostOnly && hasPath && cookie.path == "/"):
      return "begins with __Host-, so isSecure must be true, path \"/\", and domain without a leading dot"
    default: return nil
    }
  }
}
