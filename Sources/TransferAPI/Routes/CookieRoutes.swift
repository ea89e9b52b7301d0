internal import HTTPCookies
internal import HTTPServer
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var cookieRoutes: [Route] {
    [
      Route("GET", "/v1/sessions/{session}/cookies") { api, context in
        let filter = try Self.cookieFilter(context)
        return Pagination.whole(try await api.view(context).cookies(of: context.sessionID(), filter), context)
      },
      Route("PUT", "/v1/sessions/{session}/cookies") { try await $0.setCookies($1) },
      Route("DELETE", "/v1/sessions/{session}/cookies") { api, context in
        let filter = try Self.cookieFilter(context)
        try await api.view(context).removeCookies(of: context.sessionID(), filter)
        return ReplyBuilder.noContent()
      },
    ]
  }

  /// Stores one cookie, or a list in the form that `GET` returns: `{"items":[…]}`.
  private func setCookies(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.sessionID()
    let value = try JSONParser.parse(try await context.jsonBytes())
    let violations = Violations()
    var cookies: [Cookie] = []
    var isList = false
    if value["items"] != nil {
      isList = true
      var reader = ObjectReader(value, at: "", violations)
      reader.allowNull("nextCursor")
      _ = reader.string("nextCursor")
      let list = reader.value("items")
      let items = list?.elements
      if list != nil, items == nil { reader.reject("items", "must be an array of cookies") }
      let most = Limits.cookiesInRequest.value
      if let items, items.count > most {
        reader.exceed("items", "must have at most \(most) cookies, not \(items.count)")
        throw Problem(violations)
      }
      for (index, item) in (items ?? []).enumerated() {
        cookies.append(Self.cookie(item, at: "/items/\(index)", violations, service.identifiers.now()))
      }
      reader.finish()
    } else {
      cookies = [Self.cookie(value, at: "", violations, service.identifiers.now())]
    }
    guard violations.isEmpty else { throw Problem(violations) }
    let kept = try await view(context).setCookies(cookies, of: id)
    // An expired cookie only deletes another. The reply then shows the cookie as sent.
    return isList
      ? Pagination.whole(kept, context) : ReplyBuilder.resource((kept.first ?? cookies[0]).json, for: context)
  }

  private static func cookie(
    _ value: JSONValue, at pointer: String, _ violations: Violations, _ now: Timestamp
  ) -> Cookie {
    var reader = ObjectReader(value, at: pointer, violations)
    return Cookie(validating: &reader, now: now, place: TransferService.place(ofURL:))
  }

  /// Returns the filter of the query. Without parameters it matches all cookies.
  private static func cookieFilter(_ context: RequestContext) throws -> CookieFilter {
    try context.allowQuery("domain", "path", "name")
    let (path, name) = (context.value("path"), context.value("name"))
    guard let domain = context.value("domain") else { return CookieFilter(path: path, name: name) }
    guard let filter = CookieFilter(domain: domain, path: path, name: name) else {
      throw RequestContext.invalid(
        "domain", "must be an ASCII host name or an address, optionally preceded by a dot, not '\(domain)'")
    }
    return filter
  }
}
