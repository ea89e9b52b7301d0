import HTTPServer
import HTTPTypes
import JSON
import Testing
import TransferModel

@testable import TransferAPI

@Suite struct PaginationTests {
  private struct Item: JSONEncodable {
    let id: FileID
    let size: Int
    func encode(into writer: inout JSONWriter) { writer.value(String(repeating: "x", count: size)) }
  }

  private func page(_ sizes: [Int], limit: Int) throws -> (count: Int, next: FileID?, bytes: Int) {
    let items = sizes.enumerated().map { Item(id: FileID(high: 1, low: UInt64($0.offset)), size: $0.element) }
    let head = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/v1/files")
    let request = ServerRequest(head: head, path: "/v1/files", query: "", body: RequestBody([]), localPort: 1)
    let context = RequestContext(request: request, parameters: [:], requestID: "r", tenant: nil)
    let reply = Pagination.reply(items, limit: limit, id: \.id, context)
    guard case .bytes(let bytes) = reply.body else { return (0, nil, 0) }
    let json = try JSONParser.parse(bytes)
    let cursor = json["nextCursor"]?.string
    #expect((reply.head.headerFields[.link] == nil) == (cursor == nil))
    return (
      json["items"]?.elements?.count ?? 0,
      cursor.flatMap { Base64.decodeForURL($0) }.flatMap { FileID(bytes: $0) }, bytes.count
    )
  }

  @Test func `link keeps the parameters of the request`() throws {
    let query = "limit=1&description=a%26b%20c%22%3E"
    let head = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/v1/tasks")
    let request = ServerRequest(
      head: head, path: "/v1/tasks", query: query, body: RequestBody([]), localPort: 1)
    let context = RequestContext(request: request, parameters: [:], requestID: "r", tenant: nil)
    let items = (0..<2).map { Item(id: FileID(high: 1, low: $0), size: 1) }
    let link = Pagination.reply(items, limit: 1, id: \.id, context).head.headerFields[.link]
    #expect(link?.hasPrefix("</v1/tasks?\(query)&cursor=") == true, "\(link ?? "")")
  }

  /// Items of 1 MiB: the page ends after four of them.
  @Test(
    arguments: [
      ([], 5, 0, nil), ([1], 5, 1, nil), ([1, 1, 1], 2, 2, 1), ([1, 1], 2, 2, nil),
      (Array(repeating: 1 << 20, count: 20), 50, 4, 3), (Array(repeating: 1 << 20, count: 20), 3, 3, 2),
      (Array(repeating: 1 << 20, count: 4), 50, 4, nil), ([1 << 24, 1], 50, 1, 0), ([1 << 24], 50, 1, nil),
      ([1, 1 << 24], 50, 2, nil), ([1, 1 << 24, 1], 50, 2, 1),
    ] as [([Int], Int, Int, UInt64?)])
  func `page ends at its limits`(_ sizes: [Int], _ limit: Int, _ count: Int, _ next: UInt64?) throws {
    let page = try page(sizes, limit: limit)
    #expect(page.count == count)
    #expect(page.next == next.map { FileID(high: 1, low: $0) })
  }
}
