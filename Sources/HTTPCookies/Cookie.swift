package import TransferModel

/// A stored cookie (HTTPCookie; RFC 6265bis §5.7).
package struct Cookie: Sendable, Equatable {
  /// The SameSite attribute (HTTPCookieStringPolicy). If it is `nil`, the server sent no known value. Then the accept policy alone
  /// decides, as in URLSession; browsers assume lax.
  package enum SameSite: String, Sendable, CaseIterable {
    /// `SameSite=None`. The case has another name because `.none` of an optional means `nil`.
    case unrestricted = "none"
    case lax, strict
  }

  package var name: String
  package var value: String
  /// The domain in the form of `CookieHost`, without a leading dot.
  package var domain: String
  /// Whether subdomains do not receive the cookie.
  package var isHostOnly: Bool
  package var path: String
  /// The expiry; `nil` for a cookie that lives as long as the session.
  package var expiresDate: Timestamp?
  package var isSecure: Bool
  package var isHTTPOnly: Bool
  package var sameSite: SameSite?
  package var created: Timestamp
  /// The time when the cookie was last stored or sent.
  package var lastAccess: Timestamp

  package init(
    name: String, value: String, domain: String, isHostOnly: Bool, path: String = "/",
    expiresDate: Timestamp? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false,
    sameSite: SameSite? = nil,
    created: Timestamp, lastAccess: Timestamp
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.isHostOnly = isHostOnly
    self.path = path
    self.expiresDate = expiresDate
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.sameSite = sameSite
    self.created = created
    self.lastAccess = lastAccess
  }

  package var isSessionOnly: Bool { expiresDate == nil }
  package var key: CookieKey { CookieKey(domain: domain, isHostOnly: isHostOnly, path: path, name: name) }

  package func isExpired(at now: Timestamp) -> Bool { expiresDate.map { $0 <= now } ?? false }

  /// The earliest date that a `Set-Cookie` field can express.
  static let distantPast = Timestamp(seconds: -11_644_473_600)

  /// Whether two cookies with the same key differ only in the last access. Text is compared octet by octet.
  func hasSameContent(as other: Cookie) -> Bool {
    CookieText.equal(value, other.value) && expiresDate?.microseconds == other.expiresDate?.microseconds
      && isSecure == other.isSecure && isHTTPOnly == other.isHTTPOnly && sameSite == other.sameSite
      && created.microseconds == other.created.microseconds
  }

  func hasSameKey(as other: Cookie) -> Bool {
    isHostOnly == other.isHostOnly && CookieText.equal(name, other.name)
      && CookieText.equal(domain, other.domain) && CookieText.equal(path, other.path)
  }
}

/// The identity of a cookie (RFC 6265bis §5.7, step 23). Text is compared octet by octet.
package struct CookieKey: Sendable, Hashable {
  package var domain: String
  package var isHostOnly: Bool
  package var path: String
  package var name: String

  package init(domain: String, isHostOnly: Bool, path: String, name: String) {
    self.domain = domain
    self.isHostOnly = isHostOnly
    self.path = path
    self.name = name
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.isHostOnly == right.isHostOnly && CookieText.equal(left.name, right.name)
      && CookieText.equal(left.domain, right.domain) && CookieText.equal(left.path, right.path)
  }

  package func hash(into hasher: inout Hasher) {
    for text in [domain, path, name] {
      for byte in text.utf8 { hasher.combine(byte) }
      hasher.combine(UInt8(0))
    }
    hasher.combine(isHostOnly)
  }
}
