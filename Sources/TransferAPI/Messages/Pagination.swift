internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import TransferModel

/// Pages of a list: opaque cursors, which contain the last item's id, and a Link to the next page (RFC 8288).
enum Pagination {
  /// - Parameter more: how far the requested limit may exceed the limit for clients.
  static func limit(_ context: RequestContext, more: Int = 0) throws(Problem) -> Int {
    try context.integer("limit", in: 1...Limits.pageItems.value + more) ?? 50
  }

  static func cursor<Kind>(_ context: RequestContext) throws(Problem) -> ID<Kind>? {
    guard let text = context.value("cursor") else { return nil }
    guard let bytes = Base64.decodeForURL(text),
      let id = ID<Kind>(bytes: bytes)
    else {
      throw RequestContext.invalid(
        "cursor", "must be nextCursor of the page before, not '\(text)'")
    }
    return id
  }

  /// The cursor of a list that is sorted by text.
  static func textCursor(_ context: RequestContext) throws(Problem) -> String? {
    guard let text = context.value("cursor") else { return nil }
    guard let bytes = Base64.decodeForURL(text), let name = String(validating: bytes, as: UTF8.self) else {
      throw RequestContext.invalid(
        "cursor", "must be nextCursor of the page before, not '\(text)'")
    }
    return name
  }

  static func order(
    _ context: RequestContext, else usual: ListOrder = .oldest
  ) throws(Problem) -> ListOrder {
    try context.choice("order") ?? usual
  }

  /// Makes the reply for a list that has only one page.
  static func whole(_ items: [some JSONEncodable], _ context: RequestContext) -> ServerResponse {
    reply(items, limit: items.count, maximumBytes: .max, cursor: { _ in [] }, context)
  }

  /// Makes the reply for `items`, which were read with a limit of `limit + 1`.
  static func reply<Item: JSONEncodable, Kind>(
    _ items: [Item], limit: Int, hasMore: Bool = false, id: (Item) -> ID<Kind>, _ context: RequestContext
  ) -> ServerResponse {
    reply(items, limit: limit, hasMore: hasMore, cursor: { id($0).bytes }, context)
  }

  /// - Parameters:
  ///   - hasMore: whether items exist beyond `items`. If true, the reply has a cursor even if all of `items` fit.
  ///   - maximumBytes: the page ends after the item that reaches this size.
  ///   - end: the bytes of the next page's cursor if all of `items` fit.
  ///   - cursor: returns the bytes of the next page's cursor for the last item.
  static func reply<Item: JSONEncodable>(
    _ items: [Item], limit: Int, hasMore: Bool = false, maximumBytes: Int = Limits.pageBytes.value,
    end: [UInt8]? = nil, cursor: (Item) -> [UInt8], _ context: RequestContext
  ) -> ServerResponse {
    var page = items.prefix(limit)
    var next: String?
    var writer = JSONWriter(capacity: 1024 * page.count + 64)
    writer.object { writer in
      writer.key("items")
      writer.array { writer in
        for place in page.indices {
          writer.element()
          page[place].encode(into: &writer)
          guard writer.bytes.count < maximumBytes else {
            page = page[...place]
            break
          }
        }
      }
      let last = hasMore || items.count > page.count ? page.last.map(cursor) : nil
      next = (items.count > page.count ? last : end ?? last).map { Base64.encodeForURL($0) }
      writer.field("nextCursor", next)
    }
    var fields = HTTPFields()
    if let next {
      let others = context.query.filter { $0.name != "cursor" }.map {
        "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))"
      }
      let query = (others + ["cursor=\(next)"]).joined(separator: "&")
      fields[.link] = "<\(context.request.path)?\(query)>; rel=\"next\""
    }
    return ReplyBuilder.resource(writer.bytes, for: context, fields: fields)
  }
}
