internal import Cluster
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var taskListRoutes: [Route] {
    [
      Route("GET", "/v1/tasks") { try await $0.listAllTasks($1) },
      Route("GET", "/v1/sessions/{session}/tasks") { api, context in
        let session = try context.sessionID()
        return try await api.listTasks(context, of: session)
      },
    ]
  }

  private static func allowQuery(_ context: RequestContext) throws(Problem) {
    try context.allowQuery(
      ["limit", "cursor", "order"] + TaskFilterPayload.names, repeatable: TaskFilterPayload.repeatableNames)
  }

  /// A search of texts looks at a limited number of tasks, so it begins with the newest.
  private static func order(_ context: RequestContext, _ filter: TaskFilter) throws(Problem) -> ListOrder {
    try Pagination.order(context, else: filter.searchesTexts ? .newest : .oldest)
  }

  private func listTasks(_ context: RequestContext, of session: SessionID) async throws -> ServerResponse {
    try Self.allowQuery(context)
    let limit = try Pagination.limit(context)
    let filter = try TaskFilterPayload.filter(context)
    let page = try await view(context).tasks(
      of: session, filter, after: Pagination.cursor(context), order: Self.order(context, filter),
      limit: limit)
    return Self.reply(page, limit, context)
  }

  private static func reply(_ page: TaskPage, _ limit: Int, _ context: RequestContext) -> ServerResponse {
    Pagination.reply(
      page.tasks.map(\.listItem), limit: limit, end: page.end?.bytes, cursor: { $0.id.bytes }, context)
  }

  /// Lists the tasks of all sessions of the tenant. All services share the rows, and each has the tasks of its own ephemeral sessions.
  private func listAllTasks(_ context: RequestContext) async throws -> ServerResponse {
    try Self.allowQuery(context)
    // A service that merges lists requests one more, to know whether there are further tasks.
    let limit = try Pagination.limit(context, more: context.isFromPeer ? 1 : 0)
    let (view, filter) = (try view(context), try TaskFilterPayload.filter(context))
    let (order, cursor): (ListOrder, TaskID?) = (
      try Self.order(context, filter), try Pagination.cursor(context)
    )
    let gathered = try await service.cluster.gather(
      context.request, of: view.tenant, isForwarded: context.isFromPeer, limit: limit + 1, {})
    let page = try await view.tasks(
      of: nil, filter, after: cursor, order: order, limit: limit, inMemoryOnly: context.isFromPeer)
    guard let others = gathered.others, !others.isEmpty else {
      var reply = Self.reply(page, limit, context)
      reply.head.headerFields.append(contentsOf: gathered.fields)
      return reply
    }
    var all = page.tasks.map { ListedItem(id: $0.id, json: $0.listItem.json) }
    all += others.compactMap { ListedItem($0) }
    // The next page begins at the end of this service's own page.
    if let end = page.end { all.removeAll { order.isAscending(end, $0.id) } }
    all.sort { order.isAscending($0.id, $1.id) }
    return Pagination.reply(
      all, limit: limit, hasMore: gathered.othersHaveMore, end: page.end?.bytes, cursor: { $0.id.bytes },
      context)
  }
}
