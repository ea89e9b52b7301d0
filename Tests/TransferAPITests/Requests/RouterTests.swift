import HTTPServer
import HTTPTypes
import Testing

@testable import TransferAPI

@Suite struct RouterTests {
  private static let router = Router(
    [
      ("GET", "/"), ("GET", "/v1/tasks"), ("POST", "/v1/tasks"), ("GET", "/v1/tasks/{task}"),
      ("DELETE", "/v1/tasks/{task}"), ("POST", "/v1/tasks/{task}/cancel"), ("GET", "/v1/tasks/all"),
      ("GET", "/v1/sessions/{session}/tasks/{task}"), ("POST", "/v1/only"), ("PUT", "/v1/only"),
    ].map { method, pattern in
      Route(method, pattern) { _, _ in ServerResponse(status: .ok) }
    })

  private func found(_ method: String, _ path: String) -> (String, [String: String])? {
    guard case .route(let route, let parameters) = Self.router.match(method: method, path: path) else {
      return nil
    }
    return ("\(route.method) \(route.pattern)", parameters)
  }

  @Test(
    arguments: [
      ("GET", "/", "GET /", [:]), ("GET", "/v1/tasks", "GET /v1/tasks", [:]),
      ("POST", "/v1/tasks", "POST /v1/tasks", [:]),
      ("GET", "/v1/tasks/7", "GET /v1/tasks/{task}", ["task": "7"]),
      ("GET", "/v1/tasks/all", "GET /v1/tasks/all", [:]),
      ("GET", "/v1/tasks/alle", "GET /v1/tasks/{task}", ["task": "alle"]),
      ("DELETE", "/v1/tasks/7", "DELETE /v1/tasks/{task}", ["task": "7"]),
      ("POST", "/v1/tasks/7/cancel", "POST /v1/tasks/{task}/cancel", ["task": "7"]),
      (
        "GET", "/v1/sessions/a/tasks/b", "GET /v1/sessions/{session}/tasks/{task}",
        ["session": "a", "task": "b"]
      ),
      ("HEAD", "/v1/tasks", "GET /v1/tasks", [:]),
      ("HEAD", "/v1/tasks/7", "GET /v1/tasks/{task}", ["task": "7"]),
    ] as [(String, String, String, [String: String])])
  func findsRoute(_ method: String, _ path: String, _ route: String, _ parameters: [String: String]) throws {
    let match = try #require(found(method, path))
    #expect(match.0 == route)
    #expect(match.1 == parameters)
  }

  @Test(arguments: [
    ("PUT", "/v1/tasks", ["GET", "HEAD", "OPTIONS", "POST"]),
    ("POST", "/v1/tasks/7", ["DELETE", "GET", "HEAD", "OPTIONS"]),
    ("OPTIONS", "/v1/tasks/7", ["DELETE", "GET", "HEAD", "OPTIONS"]),
    ("GET", "/v1/only", ["OPTIONS", "POST", "PUT"]), ("HEAD", "/v1/only", ["OPTIONS", "POST", "PUT"]),
    ("get", "/v1/tasks", ["GET", "HEAD", "OPTIONS", "POST"]),
    ("GET", "/v1/tasks/7/cancel", ["OPTIONS", "POST"]),
  ])
  func `wrong method lists the allowed methods`(_ method: String, _ path: String, _ expected: [String]) {
    guard case .wrongMethod(let allowed) = Self.router.match(method: method, path: path) else {
      Issue.record("\(method) \(path) did not match wrongMethod")
      return
    }
    #expect(allowed == expected)
  }

  @Test(arguments: [
    "/v1", "/v1/nothing", "/v1/sessions", "/v1/sessions/a", "/v1/sessions/a/tasks", "/v1/tasks/7/body",
    "/v1/tasks/7/cancel/x", "/V1/tasks", "/v1/Tasks", "/x",
  ])
  func `unknown path has no route`(_ path: String) {
    for method in ["GET", "HEAD", "POST", "OPTIONS"] {
      guard case .none = Self.router.match(method: method, path: path) else {
        Issue.record("\(method) \(path) matched a route")
        return
      }
    }
  }
}
