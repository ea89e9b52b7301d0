internal import HTTPServer
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var usageRoutes: [Route] {
    [
      Route("GET", "/v1/usage") { api, context in
        try context.allowQuery()
        let counts = try await api.view(context).taskCounts()
        let space = await api.reports.diskSpace()
        var writer = JSONWriter()
        writer.object { writer in
          counts.encodeTasks(into: &writer)
          guard let space else { return writer.field("disk", nil as String?) }
          writer.objectField("disk") { writer in
            writer.field("availableBytes", space.availableBytes)
            writer.field("totalBytes", space.totalBytes)
          }
        }
        return ReplyBuilder.resource(writer.bytes, for: context)
      },
      Route("GET", "/v1/settings") { api, context in
        try context.allowQuery()
        let isOperator = try api.view(context).tenant == .default
        return ReplyBuilder.resource(isOperator ? api.reports.settings : api.reports.limits, for: context)
      },
    ]
  }
}
