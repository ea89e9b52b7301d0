internal import HTTPCache
internal import HTTPServer
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var cacheRoutes: [Route] {
    [
      Route("GET", "/v1/sessions/{session}/cache") { try await $0.readCache($1) },
      Route("DELETE", "/v1/sessions/{session}/cache") { api, context in
        try context.allowQuery()
        try await api.view(context).emptyCache(of: context.sessionID())
        return ReplyBuilder.noContent()
      },
    ]
  }

  private func readCache(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("limit")
    let limit = try Pagination.limit(context)
    let (usage, entries) =
      try await view(context).cache(of: context.sessionID(), entries: limit) ?? (.none, [])
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("memoryCapacity", usage.memoryCapacity)
      writer.field("currentMemoryUsage", usage.memoryUsed)
      writer.field("diskCapacity", usage.diskCapacity)
      writer.field("currentDiskUsage", usage.diskUsed)
      writer.field("countOfEntries", usage.count)
      writer.arrayField("entries", entries) { writer, entry in Self.encode(entry, into: &writer) }
    }
    return ReplyBuilder.resource(writer.bytes, for: context)
  }

  private static func encode(_ entry: CacheUsage.Entry, into writer: inout JSONWriter) {
    let response = entry.response
    writer.object { writer in
      writer.field("url", response.url)
      writer.field("status", response.status)
      writer.field("size", response.size)
      writer.field("isComplete", response.isComplete)
      writer.field("storedAt", response.responseTime)
      writer.field("isInMemory", entry.isInMemory)
      writer.field("isOnDisk", entry.isOnDisk)
    }
  }
}
