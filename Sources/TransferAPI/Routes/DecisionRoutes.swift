internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var decisionRoutes: [Route] {
    [
      Route("GET", "/v1/sessions/{session}/decisions") { try await $0.listDecisions($1) },
      Route("GET", "/v1/decisions/{decision}", isPrompt: true) { api, context in
        try context.allowQuery()
        return ReplyBuilder.resource(
          try await api.view(context).decision(context.decisionID()).json, for: context)
      },
      Route("POST", "/v1/decisions/{decision}", isPrompt: true) { api, context in
        try context.allowQuery()
        let id = try context.decisionID()
        let answer = try JSONParser.parse(try await context.jsonBytes())
        return ReplyBuilder.resource(try await api.view(context).answer(id, with: answer).json, for: context)
      },
    ]
  }

  private func listDecisions(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "state", "order")
    let limit = try Pagination.limit(context)
    let decisions = try await view(context).decisions(
      of: context.sessionID(), state: try context.choice("state"), after: try Pagination.cursor(context),
      order: Pagination.order(context), limit: limit + 1)
    return Pagination.reply(decisions, limit: limit, id: \.id, context)
  }
}
