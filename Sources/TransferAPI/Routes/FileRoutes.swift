internal import Cluster
internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var fileRoutes: [Route] {
    [
      Route("POST", "/v1/files") { try await $0.createFile($1) },
      Route("GET", "/v1/files") { try await $0.listFiles($1) },
      Route("GET", "/v1/files/{file}", isOfAnyType: true) { try await $0.readFile($1) },
      Route("DELETE", "/v1/files/{file}") { api, context in
        try context.allowQuery()
        try await api.view(context).deleteFile(context.fileID())
        return ReplyBuilder.noContent()
      },
    ]
  }

  // MARK: Creating

  /// Creates a file from the request's body, or from a finished task's body if the request is JSON.
  private func createFile(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let type = context.field(.contentType)
    let essence = (type?.split(separator: ";").first ?? "").trimmingBlanks.lowercasedASCII
    guard essence != "application/json" else { return try await keepBody(context) }
    let view = try view(context)
    let reception = try view.receiveFile()
    let file: StoredFile
    do {
      while let chunk = try await context.request.body.next() { await reception.write(chunk) }
      file = try await view.finish(reception, contentType: type)
    } catch {
      reception.discard()
      throw error
    }
    do {
      let idempotent = try IdempotentRequest(context, body: Array(file.sha256.utf8), service: service)
      return try await create(context, idempotent) { reply in
        try await view.keep(file, reply: reply)
      } replayed: {
        view.drop(file)
      }
    } catch {
      view.drop(file)
      throw error
    }
  }

  private func keepBody(_ context: RequestContext) async throws -> ServerResponse {
    let bytes = try await context.jsonBytes()
    let violations = Violations()
    let value = try JSONParser.parse(bytes)
    var reader = ObjectReader(value, at: "", violations)
    guard value.isObject else { throw Problem(violations) }
    let text = reader.string("fromTask")
    if reader.isMissing("fromTask") {
      reader.reject(
        "fromTask", "is required; to store a file that is itself JSON, send it as application/octet-stream")
    }
    let id = text.flatMap { TaskID($0) }
    if let text, id == nil { reader.reject("fromTask", "must be the id of a task, not '\(text)'") }
    reader.finish()
    guard violations.isEmpty, let id else { throw Problem(violations) }
    // The task's owner has its body, possibly in memory.
    let view = try view(context)
    return try await route(context.with(RequestBody(bytes)), about: .task(id), of: view.tenant) {
      context, _ in
      let idempotent = try IdempotentRequest(context, body: bytes, service: service)
      return try await create(context, idempotent) { try await view.keepBody(of: id, reply: $0) }
    }
  }

  private func create(
    _ context: RequestContext, _ idempotent: IdempotentRequest?,
    _ keep: @escaping (@Sendable (StoredFile) -> IdempotentReply?) async throws -> StoredFile,
    replayed: () -> Void = {}
  ) async throws -> ServerResponse {
    var isFresh = false
    let create: () async throws -> ServerResponse = {
      isFresh = true
      let file = try await keep { file in
        idempotent?.reply(
          status: 201, type: "application/json", location: "/v1/files/\(file.id)", body: file.json)
      }
      return ReplyBuilder.resource(
        file.json, for: context, status: 201, fields: [.location: "/v1/files/\(file.id)"])
    }
    let response = try await idempotent.run(create)
    if !isFresh { replayed() }
    return response
  }

  // MARK: Reading

  private func listFiles(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "order")
    let limit = try Pagination.limit(context)
    let files = try await view(context).files(
      after: try Pagination.cursor(context), order: Pagination.order(context), limit: limit + 1)
    return Pagination.reply(files, limit: limit, id: \.id, context)
  }

  /// Returns the file's bytes, or its description if the client accepts JSON but not the file's type.
  private func readFile(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let view = try view(context)
    let file = try await view.file(context.fileID())
    let type = file.contentType ?? "application/octet-stream"
    if let accept = context.field(.accept), !ContentNegotiation.accepts(accept, type),
      ContentNegotiation.accepts(accept, "application/json")
    {
      return ReplyBuilder.resource(file.json, for: context)
    }
    var fields = StoredContent.safeFields(type: type)
    fields[.contentDisposition] = "attachment"
    let stream = try await view.open(file)
    return try StoredContent(size: file.size, sha256: file.sha256, fields: fields).reply(to: context) {
      range in
      .source(BodyStreamSource(stream(range)), length: range.upperBound - range.lowerBound)
    }
  }
}
