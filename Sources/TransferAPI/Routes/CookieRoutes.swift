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
        return Pages.whole(try await api.view(context).cookies(of: context.sessionID(), filter), context)
      },
      Route("PUT", "/v1/sessions/{session}/cookies") { try await $0.setCookies($1) },
      Route("DELETE", "/v1/sessions/{session}/cookies") { api, context in
        let filter = try Self.cookieFilter(context)
        try await api.view(context).removeCookies(of: context.sessionID(), filter)
        return Reply.noContent()
      },
    ]
  }

  /// Takes one cookie, or several as `GET` gives them: `{"items":[…]}`.
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
    // One that has expired took another away: there is nothing else to show.
    return isList ? Pages.whole(kept, context) : Reply.resource((kept.first ?? cookies[0]).json, for: context)
  }

  private static func cookie(
    _ value: JSONValue, at pointer: String, _ violations: Violations, _ now: Timestamp
  ) -> Cookie {
    var reader = ObjectReader(value, at: pointer, violations)
    return Cookie(validating: &reader, now: now, place: TransferService.place(ofURL:))
  }

  /// Which cookies the query names; without one, all.
  private static func cookieFilter(_ context: RequestContext) throws -> CookieFilter {
    try context.allowQuery("domain", "path", "name")
    let (path, name) = (context.value("path"), context.value("name"))
    guard let domain = context.value("domain") else { return CookieFilter(path: path, name: name) }
    guard let filter = CookieFilter(domain: domain, path: path, name: name) else {
      throw RequestContext.invalid(
        "domain", "must be a host's name in ASCII or an address, perhaps after a dot")
    }
    return filter
  }
}
