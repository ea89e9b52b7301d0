package import JSON
internal import Limits

/// Lists of a service, which come in pages.
package enum ServicePages {
  /// Returns the items of a list, page by page.
  /// - Parameters:
  ///   - limit: the most items.
  ///   - read: sends a request and returns the reply.
  package static func items<Failure: Error>(
    _ path: String, _ query: [(name: String, value: String)] = [], upTo limit: Int = .max,
    _ read: (ServiceRequest) async throws(Failure) -> JSONValue
  ) async throws(Failure) -> [JSONValue] {
    var items: [JSONValue] = []
    var cursor: String?
    repeat {
      var query = query + [("limit", "\(min(ClientLimits.pageItems.value, limit - items.count))")]
      if let cursor { query.append(("cursor", cursor)) }
      let page = try await read(ServiceRequest("GET", path, query: query))
      items += page["items"]?.elements ?? []
      cursor = page["nextCursor"]?.string
    } while cursor != nil && items.count < limit
    return items
  }
}
