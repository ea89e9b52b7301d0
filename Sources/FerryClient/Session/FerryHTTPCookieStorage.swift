public import FoundationEssentials
internal import JSON

/// The cookies of one session, which are in the service. `HTTPCookieStorage` in Apple's Foundation, with async calls.
public struct FerryHTTPCookieStorage: Sendable {
  let session: FerrySession

  /// The cookies that have not expired, the oldest first.
  public var cookies: [FerryHTTPCookie] {
    get async throws(FerryError) {
      let service = try await session.started()
      let reply = try await service.get("/v1/sessions/\(service.id)/cookies")
      return (reply["items"]?.elements ?? []).compactMap(FerryHTTPCookie.init)
    }
  }

  /// Returns the cookies that a request for the URL carries.
  public func cookies(for url: URL) async throws(FerryError) -> [FerryHTTPCookie] {
    try await cookies.filter { $0.matches(url) }
  }

  /// Stores a cookie. It replaces the cookie with the same name, domain and path. A time in the past deletes that cookie.
  public func setCookie(_ cookie: FerryHTTPCookie) async throws(FerryError) { try await setCookies([cookie]) }

  /// Stores cookies, or none of them if the service refuses one.
  public func setCookies(_ cookies: [FerryHTTPCookie]) async throws(FerryError) {
    let service = try await session.started()
    var writer = JSONWriter()
    writer.object { writer in
      writer.arrayField("items", cookies) { writer, cookie in cookie.encode(into: &writer) }
    }
    _ = try await service.json(
      ServiceRequest("PUT", "/v1/sessions/\(service.id)/cookies", json: writer.bytes))
  }

  /// Deletes the cookie with the same name, domain and path.
  public func deleteCookie(_ cookie: FerryHTTPCookie) async throws(FerryError) {
    var expired = cookie
    expired.expiresDate = Date(timeIntervalSince1970: 0)
    try await setCookie(expired)
  }

  /// Deletes all cookies.
  public func removeCookies() async throws(FerryError) {
    let service = try await session.started()
    try await service.delete("/v1/sessions/\(service.id)/cookies")
  }
}

extension FerrySession {
  /// The cookies of the session in the service. It replaces `URLSessionConfiguration.httpCookieStorage`.
  public var httpCookieStorage: FerryHTTPCookieStorage { FerryHTTPCookieStorage(session: self) }
}
