internal import Cluster
internal import EventLoop
internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import TransferModel

/// An operation of `openapi.yaml`.
package struct Route: Sendable {
  package let method: String
  /// The path, with `{names}` for its parameters.
  package let pattern: String
  /// Whether the route is served without a token.
  package let isPublic: Bool
  /// Whether the request runs on the server's thread, because it is short and waits for no disk.
  let runsOnServerLoop: Bool
  /// Whether the reply may have a type that the client does not accept: an origin's bytes, a file, an event stream.
  let acceptsAnyMediaType: Bool
  /// Whether the body has any type and is not parsed.
  let acceptsAnyBody: Bool
  let handle: @Sendable (TransferAPI, RequestContext) async throws -> ServerResponse

  init(
    _ method: String, _ pattern: String, isPublic: Bool = false, isPrompt: Bool = false,
    isOfAnyType: Bool = false, takesBytes: Bool = false,
    _ handle: @escaping @Sendable (TransferAPI, RequestContext) async throws -> ServerResponse
  ) {
    self.method = method
    self.pattern = pattern
    self.isPublic = isPublic
    self.runsOnServerLoop = isPrompt
    self.acceptsAnyMediaType = isOfAnyType
    self.acceptsAnyBody = takesBytes
    self.handle = handle
  }

  /// Returns the subject of a request, from its path, or `nil` if any service can handle the request.
  func subject(_ context: RequestContext) -> RequestSubject? {
    if let text = context.parameters["session"] { return SessionID(text).map { .session($0) } }
    if let text = context.parameters["task"] { return TaskID(text).map { .task($0) } }
    if let text = context.parameters["decision"] { return DecisionID(text).map { .decision($0) } }
    // The path of a creation does not name the tenant's shared session. Endpoints belong to its owner, which writes their events and test
    // messages.
    let isOfSharedSession =
      pattern == "/v1/tasks" && method == "POST" || pattern.hasPrefix("/v1/webhooks/endpoints")
    return isOfSharedSession ? .session(.shared) : nil
  }

  /// - Returns: the executor for a request's handler, or `nil` for the executor that the request already runs on.
  func executor(for context: RequestContext, _ parsePool: FairPool?) -> (any TaskExecutor)? {
    if let parsePool, !acceptsAnyBody, let tenant = context.tenant, context.hasLargeJSON {
      return parsePool.executor(for: tenant.name)
    }
    return runsOnServerLoop ? nil : globalConcurrentExecutor
  }
}

/// Finds the route of a request in a tree of path segments. Fixed segments take precedence over parameters.
struct Router: Sendable {
  private final class Node: Sendable {
    let fixed: [String: Node]
    let variable: (name: String, node: Node)?
    let routes: [String: Route]

    init(_ routes: [(segments: ArraySlice<Substring>, route: Route)]) {
      var here: [String: Route] = [:]
      var below: [String: [(ArraySlice<Substring>, Route)]] = [:]
      for (segments, route) in routes {
        guard let first = segments.first else {
          here[route.method] = route
          continue
        }
        below[String(first), default: []].append((segments.dropFirst(), route))
      }
      self.routes = here
      let name = below.keys.first { $0.hasPrefix("{") }
      variable = name.map { (String($0.dropFirst().dropLast()), Node(below[$0] ?? [])) }
      fixed = below.filter { $0.key != name }.mapValues { Node($0) }
    }
  }

  enum Match {
    case route(Route, parameters: [String: String])
    case wrongMethod(allowed: [String])
    case none
  }

  private let root: Node

  init(_ routes: [Route]) {
    root = Node(routes.map { ($0.pattern.split(separator: "/")[...], $0) })
  }

  func match(method: String, path: String) -> Match {
    var node = root
    var parameters: [String: String] = [:]
    for segment in path.parts(between: "/") {
      if let next = node.fixed[String(segment)] {
        node = next
      } else if let (name, next) = node.variable {
        parameters[name] = PercentEncoding.decode(String(segment))
        node = next
      } else {
        return .none
      }
    }
    guard !node.routes.isEmpty else { return .none }
    if let route = node.routes[method] { return .route(route, parameters: parameters) }
    if method == "HEAD", let route = node.routes["GET"] { return .route(route, parameters: parameters) }
    var allowed = Set(node.routes.keys)
    if allowed.contains("GET") { allowed.insert("HEAD") }
    allowed.insert("OPTIONS")
    return .wrongMethod(allowed: allowed.sorted())
  }
}
