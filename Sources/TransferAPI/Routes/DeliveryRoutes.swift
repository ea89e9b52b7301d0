internal import Cluster
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  /// Deliveries that one turn of a request for many sends again.
  private static let redeliveryTurn = 500

  static var deliveryRoutes: [Route] {
    [
      Route("GET", "/v1/webhooks/deliveries") { try await $0.listDeliveries($1) },
      Route("GET", "/v1/webhooks/deliveries/{delivery}") { api, context in
        try context.allowQuery()
        return ReplyBuilder.resource(
          try await api.view(context).delivery(context.deliveryID()).json, for: context)
      },
      Route("POST", "/v1/webhooks/deliveries/{delivery}/redeliver") { api, context in
        try context.allowQuery()
        let id = try context.deliveryID()
        try await context.requireEmptyBody()
        return try await api.redeliver(id, context)
      },
      Route("POST", "/v1/webhooks/deliveries/redeliver") { try await $0.redeliverMany($1) },
    ]
  }

  private func listDeliveries(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "endpoint", "state", "task", "since", "order")
    let limit = try Pagination.limit(context)
    let view = try view(context)
    var query = DeliveryQuery(of: view.tenant, limit: limit + 1)
    query.endpoint = try context.id("endpoint")
    query.task = try context.id("task")
    query.state = try context.choice("state")
    query.since = try context.time("since")
    query.after = try Pagination.cursor(context)
    query.order = try Pagination.order(context)
    return Pagination.reply(try await view.deliveries(query), limit: limit, id: \.delivery.id, context)
  }

  /// Sends a message again, at the service that owns its session.
  private func redeliver(_ id: DeliveryID, _ context: RequestContext) async throws -> ServerResponse {
    let view = try view(context)
    let session = try await view.delivery(id).delivery.sessionID
    return try await route(context, about: .session(session), of: view.tenant) { context, _ in
      Self.accepted(try await view.redeliver(id))
    }
  }

  private func redeliverMany(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let payload = try RedeliveryPayload(JSONParser.parse(try await context.jsonBytes()))
    let view = try view(context)
    var query = DeliveryQuery(of: view.tenant, limit: Self.redeliveryTurn)
    (query.endpoint, query.task) = (payload.endpoint, payload.task)
    (query.state, query.since) = (payload.state, payload.since)
    var count: Int64 = 0
    while true {
      let page = try await view.deliveries(query)
      for delivery in page.map(\.delivery) where delivery.state == payload.state {
        do {
          let single = context.with(
            .post, path: "/v1/webhooks/deliveries/\(delivery.id)/redeliver",
            parameters: ["delivery": delivery.id.description])
          let reply = try await redeliver(delivery.id, single)
          // The delivery or its endpoint was deleted.
          guard ![.notFound, .conflict].contains(reply.head.status) else { continue }
          guard reply.head.status == .accepted else { return reply }
          count += 1
        } catch ServiceError.deliveryNotFound, ServiceError.endpointDeleted {
          continue
        }
      }
      guard page.count == query.limit, let last = page.last else { break }
      query.after = last.delivery.id
    }
    var writer = JSONWriter()
    writer.object { $0.field("redelivered", count) }
    return ReplyBuilder.json(writer.bytes, status: 202)
  }
}
