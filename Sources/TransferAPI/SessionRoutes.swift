internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var sessionRoutes: [Route] {
    [
      Route("POST", "/v1/sessions") { try await $0.createSession($1) },
      Route("GET", "/v1/sessions") { try $0.listSessions($1) },
      Route("GET", "/v1/sessions/{session}") { api, context in
        try context.allowQuery()
        return Reply.resource(try api.view(context).session(context.sessionID()).json, for: context)
      },
      Route("POST", "/v1/sessions/{session}/invalidate") { try await $0.invalidateSession($1) },
      Route("POST", "/v1/sessions/{session}/reset") { api, context in
        try context.allowQuery()
        let id = try context.sessionID()
        try await context.expectNoMembers()
        return Reply.resource(try await api.view(context).reset(id).json, for: context)
      },
      Route("POST", "/v1/sessions/{session}/flush") { api, context in
        try context.allowQuery()
        let id = try context.sessionID()
        try await context.expectNoMembers()
        return Reply.resource(try await api.view(context).flush(id).json, for: context)
      },
      Route("DELETE", "/v1/sessions/{session}") { api, context in
        try context.allowQuery()
        try await api.view(context).deleteSession(context.sessionID())
        return Reply.noContent()
      },
    ]
  }

  private func createSession(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let bytes = try await context.jsonBytes()
    let view = try view(context)
    let idempotent = try IdempotentRequest(context, body: bytes, service: service)
    let create: @Sendable () async throws -> ServerResponse = {
      let payload = try await SessionPayload(JSONParser.parse(bytes)) { name in
        try await view.configurationIfAny(name)?.configuration
      }
      let (session, isNew) = try await view.createSession(payload.specification) { session, isNew in
        idempotent?.reply(
          status: isNew ? 201 : 200, type: "application/json", location: "/v1/sessions/\(session.id)",
          body: session.json)
      }
      let fields: HTTPFields = [.location: "/v1/sessions/\(session.id)"]
      return Reply.resource(session.json, for: context, status: isNew ? 201 : 200, fields: fields)
    }
    return try await idempotent.run(create)
  }

  private func listSessions(_ context: RequestContext) throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "type", "state")
    let limit = try Pages.limit(context)
    let sessions = try view(context).sessions(
      type: try context.choice("type"), state: try context.choice("state"), after: try Pages.cursor(context),
      limit: limit + 1)
    return Pages.reply(sessions, limit: limit, id: \.id, context)
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
    return Reply.resource(session.json, for: context, status: 202, fields: [.location: "/v1/sessions/\(id)"])
  }
}
