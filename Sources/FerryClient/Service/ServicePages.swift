package import JSON
internal import Limits

/// Lists of a service, which come in pages.
package enum ServicePages {
  /// The reply has another form than the contract declares.
  package static let notAList = ServiceError.invalidReply("the reply is no list of a service; check the URL")

  /// Returns the items of a list, page by page.
  /// - Parameters:
  ///   - invalid: converts the error of a reply that is no list.
  ///   - limit: the most items.
  ///   - read: sends a request and returns the reply.
  package static func items<Failure: Error>(
    _ path: String, _ query: [(name: String, value: String)] = [], upTo limit: Int = .max,
    invalid: (ServiceError) -> Failure,
    _ read: (ServiceRequest) async throws(Failure) -> JSONValue
  ) async throws(Failure) -> [JSONValue] {
    var items: [JSONValue] = []
    var cursor: String?
    repeat {
      var query = query + [("limit", "\(min(ClientLimits.pageItems.value, limit - items.count))")]
      if let cursor { query.append(("cursor", cursor)) }
      let page = try await read(ServiceRequest("GET", path, query: query))
      guard let found = page["items"]?.elements else { throw invalid(notAList) }
      items += found
      cursor = page["nextCursor"]?.string
    } while cursor != nil && items.count < limit
    return items
  }
}
