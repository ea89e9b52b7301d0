internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var groupRoutes: [Route] {
    [
      Route("GET", "/v1/groups") { try await $0.listGroups($1) },
      Route("GET", "/v1/groups/{group}") { try await $0.readGroup($1) },
      Route("POST", "/v1/groups/{group}/close") { api, context in
        try context.allowQuery()
        try await context.requireEmptyBody()
        return ReplyBuilder.resource(
          try await api.view(context).closeGroup(context.group()).json, for: context)
      },
    ]
      + [TaskVerb.cancel, .suspend, .resume].map { verb in
        Route("POST", "/v1/groups/{group}/\(verb.rawValue)") { api, context in
          try context.allowQuery()
          try await context.requireEmptyBody()
          var filter = TaskFilter()
          filter.group = try await api.view(context).group(context.group()).group.key.name
          return try await api.command(verb, filter, context)
        }
      }
  }

  private func listGroups(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "order")
    let limit = try Pagination.limit(context)
    let view = try view(context)
    let page = try await view.groups(
      after: Self.cursor(context, view.tenant), order: Pagination.order(context), limit: limit + 1)
    return Pagination.reply(page, limit: limit, cursor: { Self.cursor(of: $0.group) }, context)
  }

  /// The cursor has the time of the group's creation and its name.
  private static func cursor(of group: TaskGroup) -> [UInt8] {
    Array("\(group.createdAt.microseconds):\(group.key.name)".utf8)
  }

  private static func cursor(_ context: RequestContext, _ tenant: Tenant) throws(Problem) -> TaskGroup? {
    guard let text = try Pagination.textCursor(context) else { return nil }
    let parts = text.split(separator: ":", maxSplits: 1)
    guard parts.count == 2, let time = Int64(parts[0]) else {
      throw RequestContext.invalid("cursor", "must be nextCursor of the page before, not '\(text)'")
    }
    return TaskGroup(
      TaskGroupKey(tenant: tenant, name: String(parts[1])), createdAt: Timestamp(microseconds: time))
  }

  private func readGroup(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let (view, name) = (try view(context), context.group())
    guard let seconds = context.preferredWait else {
      return ReplyBuilder.resource(try await view.group(name).json, for: context)
    }
    let group = try await view.waitForEnd(ofGroup: name, seconds: seconds)
    return ReplyBuilder.resource(
      group.json, for: context, fields: [.preferenceApplied: "wait=\(Int(seconds.rounded(.up)))"])
  }
}

extension RequestContext {
  fileprivate func group() -> String { parameters["group"] ?? "" }
}
