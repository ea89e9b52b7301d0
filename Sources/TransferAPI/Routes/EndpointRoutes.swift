internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var endpointRoutes: [Route] {
    [
      Route("POST", "/v1/webhooks/endpoints") { try await $0.createEndpoint($1) },
      Route("GET", "/v1/webhooks/endpoints") { try $0.listEndpoints($1) },
      Route("GET", "/v1/webhooks/endpoints/{endpoint}") { api, context in
        try context.allowQuery()
        return ReplyBuilder.resource(
          try api.view(context).endpoint(context.endpointID()).json, for: context)
      },
      Route("PATCH", "/v1/webhooks/endpoints/{endpoint}") { try await $0.changeEndpoint($1) },
      Route("DELETE", "/v1/webhooks/endpoints/{endpoint}") { api, context in
        try context.allowQuery()
        try await api.view(context).deleteEndpoint(context.endpointID())
        return ReplyBuilder.noContent()
      },
      Route("POST", "/v1/webhooks/endpoints/{endpoint}/rotate-secret") { try await $0.rotateSecret($1) },
      Route("POST", "/v1/webhooks/endpoints/{endpoint}/test") { api, context in
        try context.allowQuery()
        let id = try context.endpointID()
        try await context.requireEmptyBody()
        let delivery = try await api.view(context).testEndpoint(id)
        return Self.accepted(delivery)
      },
    ]
  }

  /// The reply to a request that queues a message.
  static func accepted(_ delivery: ShownDelivery) -> ServerResponse {
    ReplyBuilder.json(
      delivery.json, status: 202, fields: [.location: "/v1/webhooks/deliveries/\(delivery.delivery.id)"])
  }

  private func listEndpoints(_ context: RequestContext) throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "order")
    let limit = try Pagination.limit(context)
    let after: EndpointID? = try Pagination.cursor(context)
    let order = try Pagination.order(context)
    let all = try view(context).endpoints()
    let rest = (order == .newest ? all.reversed() : all).filter { endpoint in
      after.map { order.isAscending($0, endpoint.id) } ?? true
    }
    return Pagination.reply(Array(rest.prefix(limit + 1)), limit: limit, id: \.id, context)
  }

  private func createEndpoint(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let bytes = try await context.jsonBytes()
    let view = try view(context)
    let (settings, secret) = try EndpointPayload.endpoint(JSONParser.parse(bytes), view)
    let idempotent = try IdempotentRequest(context, body: bytes, service: service)
    return try await idempotent.run {
      let endpoint = try await view.createEndpoint(settings, secret: secret) { endpoint in
        idempotent?.reply(
          status: 201, type: "application/json", location: "/v1/webhooks/endpoints/\(endpoint.id)",
          body: endpoint.jsonWithSecret)
      }
      return ReplyBuilder.json(
        endpoint.jsonWithSecret, status: 201,
        fields: [.location: "/v1/webhooks/endpoints/\(endpoint.id)", .eTag: EntityTag.of(endpoint.json)])
    }
  }

  private func changeEndpoint(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.endpointID()
    _ = try context.bodyType(.json, .mergePatch)
    let json = try JSONParser.parse(try await context.request.body.collect(upTo: Limits.jsonBytes.value))
    let view = try view(context)
    _ = try EndpointPayload.change(json, of: view.endpoint(id), view)
    let ifMatch = context.field(.ifMatch)
    let endpoint = try await view.changeEndpoint(id) { present throws(ServiceError) in
      guard EntityTag.permits(ifMatch, EntityTag.of(present.json)) else { throw .preconditionFailed }
      // The endpoint may have changed since the first check.
      do { return try EndpointPayload.change(json, of: present, view) } catch { throw .preconditionFailed }
    }
    return ReplyBuilder.resource(endpoint.json, for: context)
  }

  private func rotateSecret(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.endpointID()
    let view = try view(context)
    let endpoint = try view.endpoint(id)
    let bytes = try await context.field(.contentType) == nil ? [] : context.jsonBytes()
    let json = bytes.isEmpty ? try await context.optionalJSON() : try JSONParser.parse(bytes)
    let (secret, overlap) = try EndpointPayload.rotation(json, of: endpoint.settings.signature)
    let idempotent = try IdempotentRequest(context, body: bytes, service: service)
    return try await idempotent.run {
      let rotated = try await view.rotateKey(ofEndpoint: id, secret: secret, overlap: overlap) { endpoint in
        idempotent?.reply(
          status: 200, type: "application/json", location: nil, body: endpoint.jsonWithSecret)
      }
      return ReplyBuilder.json(rotated.jsonWithSecret, fields: [.eTag: EntityTag.of(rotated.json)])
    }
  }
}
