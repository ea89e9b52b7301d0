package import HTTPCookies
package import TransferModel

extension Cookie: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    let created = try coder.required("created", value?.created)
    return Cookie(
      name: try coder.required("name", value?.name), value: try coder.required("value", value?.value),
      domain: try coder.required("domain", value?.domain),
      isHostOnly: try coder.member("isHostOnly", value?.isHostOnly, else: true),
      path: try coder.required("path", value?.path),
      expiresDate: try coder.optional("expires", value?.expiresDate),
      isSecure: try coder.member("isSecure", value?.isSecure, else: false),
      isHTTPOnly: try coder.member("isHTTPOnly", value?.isHTTPOnly, else: false),
      sameSite: try coder.optional("sameSite", value?.sameSite), created: created,
      lastAccess: try coder.member("lastAccess", value?.lastAccess, else: created))
  }
}

/// A cookie with its session, sealed together.
package struct StoredCookie: Sendable, Equatable {
  package let session: SessionID
  package let cookie: Cookie

  package init(session: SessionID, cookie: Cookie) {
    self.session = session
    self.cookie = cookie
  }

  /// Returns the cookie if it belongs to the session.
  /// - Parameter session: the session of the row.
  package func checked(is session: SessionID) throws(RecordFault) -> StoredCookie {
    guard self.session == session else { throw RecordFault(pointer: "/session", "is not that of the row") }
    return self
  }
}

extension StoredCookie: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    StoredCookie(
      session: try coder.required("session", value?.session),
      cookie: try coder.required("cookie", value?.cookie))
  }
}

extension CookieKey {
  /// The key of a cookie in its session (RFC 6265bis §5.7), for a ledger's table. No part contains a control character, so tabs separate
  /// them.
  package var stored: String { "\(isHostOnly ? "" : ".")\(domain)\t\(path)\t\(name)" }
}

extension CookieKey: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    CookieKey(
      domain: try coder.required("domain", value?.domain),
      isHostOnly: try coder.member("isHostOnly", value?.isHostOnly, else: true),
      path: try coder.required("path", value?.path), name: try coder.required("name", value?.name))
  }
}

extension CookieFilter: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    let domain: String? = try coder.optional("domain", value?.domain)
    let path = try coder.optional("path", value?.path)
    let name = try coder.optional("name", value?.name)
    if let value { return value }
    guard let domain else { return CookieFilter(path: path, name: name) }
    guard let filter = CookieFilter(domain: domain, path: path, name: name) else {
      throw coder.fault("domain", "is not the domain of a cookie")
    }
    return filter
  }
}

extension CookieJar.Change: RecordCases {
  package static let cases: [RecordCase<Self>] = [
    RecordCase("stored", Self.stored) { if case .stored(let cookie) = $0 { cookie } else { nil } },
    RecordCase("removed", Self.removed) { if case .removed(let key) = $0 { key } else { nil } },
  ]
}
