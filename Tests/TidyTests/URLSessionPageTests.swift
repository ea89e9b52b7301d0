import TransferModel
import Testing
import Yams

@testable import TransferAPI

/// `docs/urlsession.md` lists every name of the API, and no others.
@Suite struct URLSessionPageTests {
  private static func page() throws -> String { try SourceTree.text("docs/urlsession.md") }

  private static func properties(of schema: String) throws -> [String] {
    let document = try #require(try Yams.load(yaml: SourceTree.text("openapi.yaml")) as? [String: Any])
    let components = try #require(document["components"] as? [String: Any])
    let schemas = try #require(components["schemas"] as? [String: Any])
    let found = try #require(schemas[schema] as? [String: Any])
    return Array(try #require(found["properties"] as? [String: Any]).keys)
  }

  /// Returns whether the page contains the name in backticks.
  private static func lists(_ page: String, _ name: String) -> Bool { page.contains("`\(name)`") }

  @Test(arguments: [
    ("SessionConfiguration", 25), ("RequestCreation", 10), ("TransactionMetrics", 30), ("Metrics", 3),
    ("Progress", 4), ("Delegate", 6),
  ])
  func `every property is listed`(_ schema: String, _ least: Int) throws {
    let (page, names) = (try Self.page(), try Self.properties(of: schema))
    #expect(names.count >= least)
    // URLSession has no counterpart of the endpoint and of the decision timeout.
    let others = schema == "Delegate" ? ["webhook", "decisionTimeout"] : []
    for name in names where !others.contains(name) { #expect(Self.lists(page, name), "\(schema).\(name)") }
  }

  @Test func `every member of a task is listed`() throws {
    let page = try Self.page()
    // These members identify the task.
    let others = ["id", "sessionId"]
    for name in try Self.properties(of: "Task") where !others.contains(name) {
      #expect(Self.lists(page, name), "\(name)")
    }
  }

  @Test func `every event is listed`() throws {
    let page = try Self.page()
    for type in EventType.allCases { #expect(Self.lists(page, type.rawValue), "\(type)") }
    for name in page.matches(of: /`((?:session|task|dataTask|downloadTask|events)\.[A-Za-z]+)`/) {
      #expect(EventType(rawValue: String(name.1)) != nil, "\(name.1) is not an event")
    }
  }

  @Test func `every refused name is listed`() throws {
    let page = try Self.page()
    for table in [
      UnsupportedNames.session, UnsupportedNames.configuration, UnsupportedNames.request,
      UnsupportedNames.task,
    ] {
      for name in table.keys { #expect(Self.lists(page, name), "\(name)") }
    }
  }

  @Test func `every path is served`() throws {
    let routes = Set(TransferAPI.routes.map(\.pattern))
    let named = try Self.page().matches(of: /`(?:[A-Z]+ )?(\/v1\/[a-z\/{}-]*)`/).map { String($0.1) }
    #expect(named.count > 15)
    for path in named { #expect(routes.contains(path), "\(path) is not served") }
    for match in try Self.page().matches(of: /`([A-Z]+) (\/v1\/[a-z\/{}-]*)`/) {
      let isServed = TransferAPI.routes.contains { $0.method == match.1 && $0.pattern == match.2 }
      #expect(isServed, "\(match.0)")
    }
  }
}
