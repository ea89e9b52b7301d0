internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferService

extension TransferAPI {
  static var operationRoutes: [Route] {
    [
      Route("GET", "/livez", isPublic: true) { _, _ in ReplyBuilder.text("ok\n") },
      Route("GET", "/readyz", isPublic: true) { api, _ in
        guard !api.service.isLeaving else { throw Problem.draining(retryAfter: 1) }
        if let obstacle = await api.service.readinessFailure() {
          throw Problem(.storeUnavailable, obstacle).with("Retry-After", "1")
        }
        return ReplyBuilder.text(Self.readiness(refused: api.service.refusedDocuments))
      },
      Route("GET", "/version", isPublic: true) { api, _ in
        var writer = JSONWriter()
        writer.object { writer in
          writer.field("name", "ferry")
          writer.field("version", api.version.number)
        }
        return ReplyBuilder.json(writer.bytes)
      },
      Route("GET", "/openapi.yaml", isPublic: true) { _, _ in
        ReplyBuilder.json(PackageResources.openapi_yaml, type: "application/yaml")
      },
    ]
  }

  /// The body of `/readyz` of a service that is ready.
  /// - Parameter refused: the number of unreadable documents of another version in the queues.
  static func readiness(refused: Int) -> String {
    refused == 0
      ? "ok\n"
      : "ok, but \(refused) documents of another version are kept, and their tasks wait: see the log\n"
  }
}
