internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  var sessionRoutes: [Route] {
    [
      Route("POST", "/v1/sessions", createSession),
      Route("GET", "/v1/sessions", listSessions),
      Route("GET", "/v1/sessions/{session}") { context in
        try context.allowQuery()
        return Reply.resource(try service.session(context.sessionID()).json, for: context)
      },
      Route("POST", "/v1/sessions/{session}/invalidate", invalidateSession),
      Route("DELETE", "/v1/sessions/{session}") { context in
        try await service.deleteSession(context.sessionID())
        return Reply.noContent()
      },
    ]
  }

  private func createSession(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let bytes = try await context.jsonBytes()
    let payload = try SessionPayload(JSONParser.parse(bytes))
    let idempotent = try IdempotentRequest(context, body: bytes, service: service)
    let create: @Sendable () async throws -> ServerResponse = {
      let session = try await service.createSession(
        description: payload.description, configuration: payload.configuration, delegate: payload.delegate
      ) { session in
        idempotent?.reply(
          status: 201, type: "application/json", location: "/v1/sessions/\(session.id)", body: session.json)
      }
      let fields: HTTPFields = [.location: "/v1/sessions/\(session.id)"]
      return Reply.resource(session.json, for: context, status: 201, fields: fields)
    }
    guard let idempotent else { return try await create() }
    return try await idempotent.run(create)
  }

  private func listSessions(_ context: RequestContext) throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "type", "state")
    let limit = try Pages.limit(context)
    if let type = context.value("type"), type != "default" {
      guard ["ephemeral", "background"].contains(type) else {
        throw RequestContext.invalid("type", "must be one of default, ephemeral, background")
      }
      return Pages.reply([TransferSession](), limit: limit, id: \.id, context)
    }
    let sessions = service.sessions(
      state: try context.choice("state"), after: try Pages.cursor(context), limit: limit + 1)
    return Pages.reply(sessions, limit: limit, id: \.id, context)
  }

  private func invalidateSession(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.sessionID()
    let violations = Violations()
    var reader = ObjectReader(try await context.optionalJSON(), at: "", violations)
    let mode: InvalidationMode = reader.choice("mode") ?? .finishTasks
    reader.finish()
    guard violations.all.isEmpty else { throw Problem(.invalidRequest, violations: violations.all) }
    let session = try await service.invalidate(id, mode)
    return Reply.resource(session.json, for: context, status: 202, fields: [.location: "/v1/sessions/\(id)"])
  }
}
