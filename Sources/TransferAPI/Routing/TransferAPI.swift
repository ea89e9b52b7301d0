internal import Cluster
package import EventLoop
package import HTTPServer
internal import HTTPTypes
package import Logging
internal import TransferModel
package import TransferService

/// The HTTP API: its routes, and the parts that all replies share.
package struct TransferAPI: Sendable {
  package struct Version: Sendable {
    package let number: String
    package init(number: String) { self.number = number }
  }

  let service: TransferService
  let version: Version
  let authenticator: ReloadableAuthenticator
  let reports: ServiceReports
  private let parsePool: FairPool?
  private let logger: Logger

  /// - Parameter parsePool: handles requests with large JSON bodies, or is `nil` to use Swift's pool.
  package init(
    service: TransferService, authenticator: ReloadableAuthenticator, version: Version,
    reports: ServiceReports = ServiceReports(), parsePool: FairPool? = nil, logger: Logger
  ) {
    self.service = service
    self.authenticator = authenticator
    self.version = version
    self.reports = reports
    self.parsePool = parsePool
    self.logger = logger
  }

  /// All operations of `openapi.yaml`.
  package static var routes: [Route] {
    sessionRoutes + configurationRoutes + taskRoutes + taskListRoutes + manyTaskRoutes + groupRoutes
      + bodyRoutes
      + uploadRoutes + decisionRoutes
      + credentialRoutes + cookieRoutes + cacheRoutes + reachabilityRoutes + fileRoutes
      + eventRoutes + endpointRoutes + deliveryRoutes + operationRoutes
      + usageRoutes + pageRoutes
  }

  /// Makes the handler for clients' requests.
  package func handler() -> HTTPHandler {
    let router = Router(Self.routes)
    return { request in
      await respond(to: request) { id in
        let match = router.match(method: request.head.method.rawValue, path: request.path)
        let isPublic = if case .route(let route, _) = match { route.isPublic } else { false }
        let tenant = try authenticator.current.check(request, isPublic: isPublic)
        return try await reply(to: request, match, id, tenant, isFromPeer: false)
      }
    }
  }

  /// Makes the handler for requests forwarded by other services, which have already authenticated them.
  package func peerHandler() -> HTTPHandler {
    let router = Router(Self.routes)
    return { request in
      switch await service.cluster.receive(request) {
      case .query(let answer): return answer
      case .request(let tenant):
        return await respond(to: request) { id in
          let match = router.match(method: request.head.method.rawValue, path: request.path)
          return try await reply(to: request, match, id, tenant, isFromPeer: true)
        }
      }
    }
  }

  /// Makes the reply to a request that the server itself refuses.
  package static func refusal(_ fault: RequestFault) -> ServerResponse {
    ReplyBuilder.problem(Problem(fault))
  }

  /// Returns the view of the caller's tenant, which shows no other tenant's resources.
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
        // A service that is about to stop refuses requests as expected.
        logger.log(
          level: problem.kind == .draining ? .info : .error,
          problem.kind == .draining ? "request refused" : "request failed",
          metadata: ["request": "\(requestID)", "path": "\(request.path)", "error": "\(error)"])
      }
      response = ReplyBuilder.problem(problem)
      let context = RequestContext(request: request, parameters: [:], requestID: requestID, tenant: nil)
      if context.wantsFormat { response = ReplyBuilder.formatted(response) }
    }
    response.head.headerFields[.requestID] = requestID
    return response
  }

  /// Runs a request at the service that owns its subject.
  func carryOut(_ route: Route, _ context: RequestContext) async throws -> ServerResponse {
    guard let tenant = context.tenant, let subject = route.subject(context) else {
      return try await route.handle(self, context)
    }
    return try await self.route(context, about: subject, of: tenant) { context, _ in
      try await route.handle(self, context)
    }
  }

  /// Runs a request at the service that owns its subject.
  /// - Parameter handle: handles the request if this service is the owner.
  func route(
    _ context: RequestContext, about subject: RequestSubject, of tenant: Tenant,
    _ handle: (RequestContext, Cluster.LocalRequest) async throws -> ServerResponse
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
        if !route.acceptsAnyMediaType { try ContentNegotiation.check(request, response) }
        try Precondition.check(context, response)
      } catch {
        response.body.close()
        throw error
      }
      return context.wantsFormat && !route.acceptsAnyMediaType ? ReplyBuilder.formatted(response) : response
    case .wrongMethod(let allowed) where request.head.method == .options:
      return ServerResponse(
        status: .noContent, fields: [.allow: allowed.joined(separator: ", "), .cacheControl: "no-store"])
    case .wrongMethod(let allowed):
      throw Problem(
        .methodNotAllowed,
        "\(request.path) does not support \(request.head.method.rawValue); use \(allowed.joined(separator: ", "))"
      )
      .with("Allow", allowed.joined(separator: ", "))
    case .none:
      throw Problem(.notFound, "no resource has the path \(request.path); /openapi.yaml lists the paths")
    }
  }
}
