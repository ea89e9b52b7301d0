internal import Cluster
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var sessionRoutes: [Route] {
    [
      Route("POST", "/v1/sessions") { try await $0.createSession($1) },
      Route("GET", "/v1/sessions") { try await $0.listSessions($1) },
      Route("GET", "/v1/sessions/{session}", isPrompt: true) { api, context in
        try context.allowQuery()
        let view = try api.view(context)
        let session = try await view.withConfiguration(view.session(context.sessionID()))
        return ReplyBuilder.resource(session.json, for: context)
      },
      Route("POST", "/v1/sessions/{session}/invalidate") { try await $0.invalidateSession($1) },
      Route("POST", "/v1/sessions/{session}/reset") { api, context in
        try context.allowQuery()
        let id = try context.sessionID()
        try await context.requireEmptyBody()
        return ReplyBuilder.resource(try await api.view(context).reset(id).json, for: context)
      },
      Route("POST", "/v1/sessions/{session}/flush") { api, context in
        try context.allowQuery()
        let id = try context.sessionID()
        try await context.requireEmptyBody()
        return ReplyBuilder.resource(try await api.view(context).flush(id).json, for: context)
      },
      Route("DELETE", "/v1/sessions/{session}") { api, context in
        try context.allowQuery()
        try await api.view(context).deleteSession(context.sessionID())
        return ReplyBuilder.noContent()
      },
    ]
  }

  private func createSession(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let bytes = try await context.jsonBytes()
    let tenant = try view(context).tenant
    let json = try JSONParser.parse(bytes)
    let key = try IdempotentRequest.key(of: context)
    return try await route(
      context.with(RequestBody(bytes)), about: .newSession(name: json["identifier"]?.string, key: key),
      of: tenant
    ) { try await createSession($0, bytes, json, $1) }
  }

  private func createSession(
    _ context: RequestContext, _ bytes: [UInt8], _ json: JSONValue, _ entry: Cluster.LocalRequest
  ) async throws -> ServerResponse {
    let view = try view(context)
    let idempotent = try IdempotentRequest(context, body: bytes, service: service)
    let create: @Sendable () async throws -> ServerResponse = {
      let payload = try await SessionPayload(json) { name in
        try await view.configurationIfAny(name)?.configuration
      }
      try view.checkEgress(of: [(payload.delegate?.webhook, "/delegate/webhook/url")])
      let (session, isNew) = try await view.createSession(payload.specification, in: entry.shard) {
        session, isNew in
        idempotent?.reply(
          status: isNew ? 201 : 200, type: "application/json", location: "/v1/sessions/\(session.id)",
          body: session.json)
      }
      let fields: HTTPFields = [.location: "/v1/sessions/\(session.id)"]
      return ReplyBuilder.resource(session.json, for: context, status: isNew ? 201 : 200, fields: fields)
    }
    return try await idempotent.run(create)
  }

  private func listSessions(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "type", "state", "order")
    // A service that merges lists requests one more, to know whether there are further sessions.
    let limit = try Pagination.limit(context, more: context.isFromPeer ? 1 : 0)
    let (type, state) = (
      try context.choice("type") as SessionType?, try context.choice("state") as SessionState?
    )
    let cursor: SessionID? = try Pagination.cursor(context)
    let (view, order) = (try view(context), try Pagination.order(context))
    let list = { view.sessions(type: type, state: state, after: cursor, order: order, limit: limit + 1) }
    let gathered = try await service.cluster.gather(
      context.request, of: view.tenant, isForwarded: context.isFromPeer, limit: limit + 1, list)
    guard let others = gathered.others else {
      let (items, hasMore) = try await ListedItem<SessionKind>.page(of: gathered.own, limit: limit, view)
      var reply = Pagination.reply(items, limit: limit, hasMore: hasMore, id: \.id, context)
      reply.head.headerFields.append(contentsOf: gathered.fields)
      return reply
    }
    let own = try await ListedItem<SessionKind>.page(of: gathered.own, limit: limit + 1, view)
    let hasMore = own.hasMore || gathered.othersHaveMore
    let listed = own.items + others.compactMap { ListedItem<SessionKind>($0) }
    // A session that moves between services may be in both lists.
    let all = Dictionary(listed.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let page = all.values.sorted { order.isAscending($0.id, $1.id) }.prefix(limit + 1)
    return Pagination.reply(Array(page), limit: limit, hasMore: hasMore, id: \.id, context)
  }

  private func invalidateSession(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.sessionID()
    let violations = Violations()
    var reader = ObjectReader(try await context.optionalJSON(), at: "", violations)
    let mode: InvalidationMode = reader.choice("mode") ?? .finishTasks
    reader.finish()
    guard violations.isEmpty else { throw Problem(violations) }
    let session = try await view(context).invalidate(id, mode)
    return ReplyBuilder.resource(
      session.json, for: context, status: 202, fields: [.location: "/v1/sessions/\(id)"])
  }
}

extension ListedItem where Kind == SessionKind {
  /// Returns this service's own sessions until the page's limit of bytes. The reply's page ends at or before the last of them.
  fileprivate static func page(
    of sessions: [TransferSession], limit: Int, _ view: TenantView
  ) async throws -> (items: [Self], hasMore: Bool) {
    var (items, size): ([Self], Int) = ([], 0)
    for session in sessions.prefix(limit) {
      guard size < Limits.pageBytes.value else { return (items, true) }
      let json: [UInt8]
      do throws(ServiceError) {
        json = try await view.withConfiguration(session).listed.json
      } catch {
        switch error {
        // The session was deleted, or its row is unreadable.
        case .sessionNotFound, .storedDataUnreadable: continue
        default: throw error
        }
      }
      size += json.count
      items.append(Self(id: session.id, json: json))
    }
    return (items, sessions.count > limit)
  }
}
