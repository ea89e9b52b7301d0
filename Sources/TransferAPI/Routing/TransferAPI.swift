internal import Cluster
package import EventLoop
package import HTTPServer
internal import HTTPTypes
package import Logging
internal import TransferModel
package import TransferService

/// The HTTP contract over the use cases: routes, and what all replies have in common.
package struct TransferAPI: Sendable {
  package struct Version: Sendable {
    package let number: String
    package init(number: String) { self.number = number }
  }

  let service: TransferService
  let version: Version
  let gatehouse: Gatehouse
  private let parsePool: FairPool?
  private let logger: Logger

  /// - Parameter parsePool: carries out requests with large bodies in JSON; nil: Swift's threads do.
  package init(
    service: TransferService, gatehouse: Gatehouse, version: Version,
    parsePool: FairPool? = nil, logger: Logger
  ) {
    self.service = service
    self.gatehouse = gatehouse
    self.version = version
    self.parsePool = parsePool
    self.logger = logger
  }

  /// Every operation, as `openapi.yaml` has them.
  package static var routes: [Route] {
    sessionRoutes + configurationRoutes + taskRoutes + bodyRoutes + uploadRoutes + decisionRoutes
      + credentialRoutes + cookieRoutes + cacheRoutes + reachabilityRoutes + fileRoutes
      + eventRoutes + operationRoutes
  }

  /// What the server calls for each request.
  package func handler() -> HTTPHandler {
    let router = Router(Self.routes)
    return { request in
      await respond(to: request) { id in
        let match = router.match(method: request.head.method.rawValue, path: request.path)
        let isPublic = if case .route(let route, _) = match { route.isPublic } else { false }
        let tenant = try gatehouse.gatekeeper.check(request, isPublic: isPublic)
        return try await reply(to: request, match, id, tenant, isFromPeer: false)
      }
    }
  }

  /// What is called for each request that another process hands on: that one has checked whose it is.
  package func peerHandler() -> HTTPHandler {
    let router = Router(Self.routes)
    return { request in
      switch await service.cluster.receive(request) {
      case .question(let answer): return answer
      case .request(let tenant):
        return await respond(to: request) { id in
          let match = router.match(method: request.head.method.rawValue, path: request.path)
          return try await reply(to: request, match, id, tenant, isFromPeer: true)
        }
      }
    }
  }

  /// The reply to a request that the server refuses by itself.
  package static func refusal(_ fault: RequestFault) -> ServerResponse { Reply.problem(Problem(fault)) }

  /// The service as the caller sees it: what is not that tenant's is not there.
  func view(_ context: RequestContext) throws(Problem) -> TenantView {
    guard let tenant = context.tenant else { throw Problem(.unauthorized) }
    return service.view(of: tenant)
  }

  private func respond(
    to request: ServerRequest, _ reply: (_ requestID: String) async throws -> ServerResponse
  ) async -> ServerResponse {
    var generator = SystemRandomNumberGenerator()
    let requestID = String(generator.next(), radix: 36)
    var response: ServerResponse
    do {
      response = try await reply(requestID)
    } catch ClusterError.misdirected {
      response = ServerResponse(status: .misdirectedRequest)
    } catch {
      let problem = Problem(error)
      if problem.kind.status >= 500 {
        // A service that is about to stop refuses requests as it should.
        logger.log(
          level: problem.kind == .draining ? .info : .error,
          problem.kind == .draining ? "request refused" : "request failed",
          metadata: ["request": "\(requestID)", "path": "\(request.path)", "error": "\(error)"])
      }
      response = Reply.problem(problem)
    }
    response.head.headerFields[.requestID] = requestID
    return response
  }

  private func carryOut(_ route: Route, _ context: RequestContext) async throws -> ServerResponse {
    guard let tenant = context.tenant, let subject = route.subject(context) else {
      return try await route.handle(self, context)
    }
    return try await self.route(context, about: subject, of: tenant) { context, _ in
      try await route.handle(self, context)
    }
  }

  /// Carries a request out at the service that owns its subject.
  /// - Parameter handle: carries it out here.
  func route(
    _ context: RequestContext, about subject: Subject, of tenant: Tenant,
    _ handle: (RequestContext, Cluster.Entry) async throws -> ServerResponse
  ) async throws -> ServerResponse {
    try await service.cluster.route(
      context.request, about: subject, of: tenant, isForwarded: context.isFromPeer
    ) { entry in
      try await handle(entry.body.map { context.with($0) } ?? context, entry)
    }
  }

  private func reply(
    to request: ServerRequest, _ match: Router.Match, _ requestID: String, _ tenant: Tenant?,
    isFromPeer: Bool
  ) async throws -> ServerResponse {
    switch match {
    case .route(let route, let parameters):
      let context = RequestContext(
        request: request, parameters: parameters, requestID: requestID, tenant: tenant, isFromPeer: isFromPeer
      )
      let response = try await withTaskExecutorPreference(route.executor(for: context, parsePool)) {
        try await carryOut(route, context)
      }
      do throws(Problem) {
        if !route.isOfAnyType { try Acceptance.check(request, response) }
        try Precondition.check(context, response)
      } catch {
        response.body.close()
        throw error
      }
      return response
    case .wrongMethod(let allowed) where request.head.method == .options:
      return ServerResponse(
        status: .noContent, fields: [.allow: allowed.joined(separator: ", "), .cacheControl: "no-store"])
    case .wrongMethod(let allowed):
      throw Problem(.methodNotAllowed, "\(request.head.method.rawValue) \(request.path)")
        .with("Allow", allowed.joined(separator: ", "))
    case .none: throw Problem(.notFound, "nothing is at \(request.path)")
    }
  }
}
