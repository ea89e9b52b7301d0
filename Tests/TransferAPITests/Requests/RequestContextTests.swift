import HTTPServer
import HTTPTypes
import JSON
import Testing
import TransferModel

@testable import TransferAPI

@Suite struct RequestContextTests {
  private enum Colour: String, CaseIterable { case red, green }

  private func context(
    query: String = "", prefer: String? = nil, type: String? = nil, method: HTTPRequest.Method = .get,
    parameters: [String: String] = [:]
  ) -> RequestContext {
    var head = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: "/")
    if let prefer { head.headerFields[.prefer] = prefer }
    if let type { head.headerFields[.contentType] = type }
    return RequestContext(
      request: ServerRequest(head: head, path: "/", query: query, body: RequestBody([]), localPort: 1),
      parameters: parameters, requestID: "r", tenant: nil)
  }

  private func pointers(_ body: () throws -> Void) -> [String]? {
    do {
      try body()
      return nil
    } catch {
      return (error as? Problem)?.violations.map(\.pointer)
    }
  }

  @Test(arguments: [
    ("", []), ("a=1", ["a=1"]), ("a=1&b=2", ["a=1", "b=2"]), ("a", ["a="]), ("a=", ["a="]),
    ("&&a=1&", ["a=1"]),
    ("=x", ["=x"]), ("a==b=c", ["a==b=c"]), ("a%20b=c%3Dd", ["a b=c=d"]), ("a+b=c+d", ["a b=c d"]),
    ("a=%2B%26", ["a=+&"]), ("a=%zz", ["a=%zz"]), ("a=1&a=2", ["a=1", "a=2"]), ("a=%C3%A9", ["a=é"]),
    ("a=%FF", ["a=%FF"]),
  ])
  func `query is decoded`(_ query: String, _ expected: [String]) {
    #expect(context(query: query).query.map { "\($0.name)=\($0.value)" } == expected)
  }

  @Test func `unknown or repeated query parameters are refused`() {
    let context = context(query: "a=1&b=2&c=3&b=4")
    #expect(pointers { try context.allowQuery("a") } == ["/b", "/c", "/b"])
    #expect(pointers { try context.allowQuery("a", "b", "c") } == ["/b"])
    #expect(pointers { try context.allowQuery() } == ["/a", "/b", "/c", "/b"])
  }

  @Test(
    arguments: [
      ("", nil, nil), ("n=1", 1, nil), ("n=9", 9, nil), ("n=0", nil, ["/n"]), ("n=10", nil, ["/n"]),
      ("n=", nil, ["/n"]),
      ("n=x", nil, ["/n"]), ("n=1.0", nil, ["/n"]), ("n=5&n=x", 5, nil),
      ("n=99999999999999999999", nil, ["/n"]),
    ] as [(String, Int?, [String]?)])
  func `integer parameter is checked`(_ query: String, _ expected: Int?, _ fault: [String]?) {
    let context = context(query: query)
    var value: Int?
    #expect(pointers { value = try context.integer("n", in: 1...9) } == fault)
    #expect(value == expected)
  }

  @Test(
    arguments: [
      ("", nil, nil), ("f=true", true, nil), ("f=1", true, nil), ("f=false", false, nil), ("f=0", false, nil),
      ("f", nil, ["/f"]), ("f=TRUE", nil, ["/f"]), ("f=yes", nil, ["/f"]),
    ] as [(String, Bool?, [String]?)])
  func `flag parameter is checked`(_ query: String, _ expected: Bool?, _ fault: [String]?) {
    let context = context(query: query)
    var value: Bool?
    #expect(pointers { value = try context.flag("f") } == fault)
    #expect(value == expected)
  }

  @Test(
    arguments: [("", nil, nil), ("c=red", "red", nil), ("c=Red", nil, ["/c"]), ("c=", nil, ["/c"])]
      as [(String, String?, [String]?)])
  func `choice parameter is checked`(_ query: String, _ expected: String?, _ fault: [String]?) {
    let context = context(query: query)
    var value: Colour?
    #expect(pointers { value = try context.choice("c") } == fault)
    #expect(value?.rawValue == expected)
  }

  @Test(
    arguments: [
      (nil, nil), ("", nil), ("wait=10", 10), ("Wait=10", 10), ("respond-async, wait=5", 5), ("wait = 7", 7),
      ("return=minimal; wait=2", 2), ("wait=0", 0), ("wait=300", 300), ("wait=301", 300),
      ("wait=99999999999", 300),
      ("wait=-1", nil), ("wait=x", nil), ("wait", nil), ("wait=", nil), ("wait=nan", nil), ("waits=5", nil),
      ("wait=x, wait=4", 4), ("wait=3, wait=4", 3), ("respond-async", nil),
    ] as [(String?, Double?)])
  func `preferred wait is read and limited`(_ field: String?, _ expected: Double?) {
    #expect(context(prefer: field).preferredWait == expected)
  }

  @Test(
    arguments: [
      ("application/json", .json), ("Application/JSON; charset=utf-8", .json), (" application/json ", .json),
      ("application/x-ndjson", .ndjson), ("application/jsonl", .ndjson), ("text/plain", nil), ("", nil),
      (nil, nil),
      ("application/jsonx", nil), ("application/problem+json", nil),
    ] as [(String?, RequestContext.BodyType?)])
  func `content type selects the body type`(_ field: String?, _ expected: RequestContext.BodyType?) {
    let context = context(type: field)
    #expect((try? context.bodyType(.json, .ndjson)) == expected)
    #expect((try? context.bodyType(.json)) == (expected == .json ? .json : nil))
  }

  @Test func `invalid ids in the path are not found`() throws {
    let task = "tsk_01923456-789a-7bcd-8ef0-123456789abc"
    #expect(try context(parameters: ["task": task]).taskID().description == task)
    #expect(try context(parameters: ["session": "ses_shared"]).sessionID() == .shared)
    for wrong in ["", "x", "ses_shared"] {
      let problem = #expect(throws: Problem.self) { try context(parameters: ["task": wrong]).taskID() }
      #expect(problem?.kind == .notFound)
    }
    #expect(throws: Problem.self) { try context().sessionID() }
  }

  @Test func `only GET and HEAD are reads`() {
    #expect(context(method: .get).isRead)
    #expect(context(method: .head).isRead)
    #expect(!context(method: .post).isRead)
    #expect(!context(method: .delete).isRead)
  }
}
