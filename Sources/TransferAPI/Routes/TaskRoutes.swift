internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import TransferCore
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var taskRoutes: [Route] {
    [
      Route("POST", "/v1/sessions/{session}/tasks", isPrompt: true) {
        try await $0.createTasks($1, in: $1.sessionID())
      },
      Route("POST", "/v1/tasks", isPrompt: true) { try await $0.createTasks($1, in: .shared) },
      Route("GET", "/v1/tasks/{task}", isPrompt: true) { try await $0.readTask($1) },
      Route("DELETE", "/v1/tasks/{task}") { api, context in
        try context.allowQuery()
        try await api.view(context).deleteTask(context.taskID())
        return ReplyBuilder.noContent()
      },
      Route("PATCH", "/v1/tasks/{task}", isPrompt: true) { try await $0.patchTask($1) },
      Route("GET", "/v1/tasks/{task}/resume-data") { try await $0.readResumeData($1) },
      Route("POST", "/v1/tasks/{task}/resume", isPrompt: true) { try await $0.resumeTask($1) },
      Route("POST", "/v1/tasks/{task}/suspend", isPrompt: true) {
        try await $0.verb($1, $0.view($1).suspend)
      },
      Route("POST", "/v1/tasks/{task}/cancel", isPrompt: true) { try await $0.cancelTask($1) },
      Route("POST", "/v1/tasks/{task}/retry") { try await $0.retryTask($1) },
      Route("GET", "/v1/tasks/{task}/metrics") { try await $0.readMetrics($1) },
    ]
  }

  // MARK: Creating

  private func createTasks(_ context: RequestContext, in session: SessionID) async throws -> ServerResponse {
    try context.allowQuery("include")
    _ = try Self.includesBody(context)
    let view = try view(context)
    let session = try view.session(session)
    switch try context.bodyType(.json, .ndjson) {
    case .json: return try await createTask(context, in: session)
    case .ndjson, .mergePatch:
      let batch = TaskBatch(view: view, session: session, spools: service.spools)
      guard context.field(.idempotencyKey) != nil else {
        return try await batch.create(from: context.request.body)
      }
      var digest = IdempotentRequest.Digest(context)
      let whole = try await batch.read(context.request.body, digest: &digest)
      guard let idempotent = try IdempotentRequest(context, digest, service: service) else {
        throw Problem(.internalError)
      }
      return try await idempotent.run { try await batch.create(whole, idempotent) }
    }
  }

  private func createTask(
    _ context: RequestContext, in session: TransferSession
  ) async throws -> ServerResponse {
    let view = try view(context)
    let bytes = try await context.request.body.collect(upTo: Limits.jsonBytes.value)
    let json = try JSONParser.parse(bytes)
    guard !json.isArray else {
      throw Problem(
        .invalidRequest,
        violations: [
          FieldViolation(
            pointer: "",
            detail: "must not be an array; send a batch as application/x-ndjson, one task per line"
          )
        ])
    }
    var specification = try await TaskPayload.specification(json, in: session, view)
    // A task that is not resumed would not end while the client waits.
    let isForgotten = context.preferredWait != nil && !specification.resume
    let wait = isForgotten ? nil : context.preferredWait
    // The reply is the completion handler, which a background session does not have.
    specification.isAwaited = wait != nil && session.type != .background
    let idempotent = try IdempotentRequest(context, body: bytes, service: service)
    let includesBody = try Self.includesBody(context)
    let create: @Sendable () async throws -> ServerResponse = { [specification] in
      let created = try await view.createTasks([specification], in: session) { tasks in
        idempotent?.reply(
          status: isForgotten ? 202 : 201, type: "application/json", location: "/v1/tasks/\(tasks[0].id)",
          body: isForgotten ? Self.json(tasks[0], hint: Self.suspensionHint) : tasks[0].json)
      }
      let task = created[0]
      let location: HTTPFields = [.location: "/v1/tasks/\(task.id)"]
      if isForgotten {
        return ReplyBuilder.resource(
          Self.json(task, hint: Self.suspensionHint), for: context, status: 202, fields: location,
          tag: EntityTag.of(task.json))
      }
      guard let seconds = wait else {
        return ReplyBuilder.resource(task.json, for: context, status: 201, fields: location)
      }
      return try await reply(afterWaitingFor: task.id, seconds, includesBody, idempotent, location, context)
    }
    return try await idempotent.run(create)
  }

  /// Waits as `Prefer: wait` asks, and replies with the finished task, or with the running task after that time (RFC 7240 §4.3).
  private func reply(
    afterWaitingFor id: TaskID, _ seconds: Double, _ includesBody: Bool, _ idempotent: IdempotentRequest?,
    _ location: HTTPFields, _ context: RequestContext
  ) async throws -> ServerResponse {
    let view = try view(context)
    let task = try await view.waitPatientlyForEnd(of: id, seconds: seconds)
    let status = task.state == .completed ? 200 : 202
    let body = try await includesBody ? Self.jsonWithBody(task, view) : task.json
    if let idempotent {
      await service.idempotency.replace(
        idempotent.reply(
          status: status, type: "application/json", location: "/v1/tasks/\(id)", body: body),
        of: task.sessionID)
    }
    var fields = location
    fields[.eTag] = EntityTag.of(body)
    fields[.preferenceApplied] = "wait=\(Int(seconds.rounded(.up)))"
    return ReplyBuilder.json(body, status: status, fields: fields)
  }

  // MARK: Reading

  private func readTask(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("include")
    let includesBody = try Self.includesBody(context)
    let id = try context.taskID()
    return try await reply(with: try await view(context).task(id), includesBody, context)
  }

  /// Replies with a task, after the wait of `Prefer` if the task has not ended.
  private func reply(
    with task: TransferTask, _ includesBody: Bool, _ context: RequestContext
  ) async throws -> ServerResponse {
    let view = try view(context)
    var (task, fields, hint): (TransferTask, HTTPFields, String?) = (task, [:], nil)
    if let seconds = context.preferredWait {
      if task.state != .completed { task = try await view.waitPatientlyForEnd(of: task.id, seconds: seconds) }
      fields[.preferenceApplied] = "wait=\(Int(seconds.rounded(.up)))"
      if task.state == .suspended, task.startedAt == nil { hint = Self.suspensionHint }
    }
    let bytes = try await includesBody ? Self.jsonWithBody(task, view) : Self.json(task, hint: hint)
    let tag = hint == nil || includesBody ? nil : EntityTag.of(task.json)
    return ReplyBuilder.resource(bytes, for: context, fields: fields, tag: tag)
  }

  private static let suspensionHint = "the task is suspended"

  /// - Parameter hint: advice for the client, which is not part of the task.
  private static func json(_ task: TransferTask, hint: String?) -> [UInt8] {
    guard let hint else { return task.json }
    var writer = JSONWriter(capacity: 1024)
    writer.object { writer in
      task.encodeMembers(into: &writer)
      writer.field("hint", hint)
    }
    return writer.bytes
  }

  private func readMetrics(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    guard let metrics = try await view(context).metrics(of: context.taskID()) else {
      throw Problem(.notFound, "the task has no metrics yet; read them after its end")
    }
    return ReplyBuilder.resource(metrics, for: context)
  }

  private static func includesBody(_ context: RequestContext) throws(Problem) -> Bool {
    guard let include = context.value("include") else { return false }
    guard include == "body" else { throw RequestContext.invalid("include", "must be body, not '\(include)'") }
    return true
  }

  /// The task with a small body inline: `text` if the body is UTF-8, otherwise `base64`.
  private static func jsonWithBody(_ task: TransferTask, _ view: TenantView) async throws -> [UInt8] {
    guard task.body != nil else { return task.json }
    // Off the server's thread, because the body may be a file.
    let small = try await withTaskExecutorPreference(globalConcurrentExecutor) {
      try await view.smallBody(of: task.id)
    }
    guard let bytes = small else { return task.json }
    var writer = JSONWriter(capacity: bytes.count + 1024)
    task.encode(into: &writer, inlineBody: bytes)
    return writer.bytes
  }

  // MARK: Commands

  private func resumeTask(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.taskID()
    try await context.requireEmptyBody()
    return try await reply(with: try await view(context).resume(id), false, context)
  }

  private func verb(
    _ context: RequestContext, _ call: (TaskID) async throws(ServiceError) -> TransferTask
  ) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.taskID()
    try await context.requireEmptyBody()
    return ReplyBuilder.resource(try await call(id).json, for: context)
  }

  private func cancelTask(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.taskID()
    let violations = Violations()
    var reader = ObjectReader(try await context.optionalJSON(), at: "", violations)
    let wantsResumeData = reader.bool("producingResumeData") ?? false
    reader.finish()
    guard violations.isEmpty else { throw Problem(violations) }
    let view = try view(context)
    guard wantsResumeData else { return ReplyBuilder.resource(try await view.cancel(id).json, for: context) }
    let (task, resumeData) = try await view.cancelProducingResumeData(id)
    var writer = JSONWriter(capacity: 1024)
    writer.object { writer in
      task.encodeMembers(into: &writer)
      writer.field("resumeData", resumeData)
    }
    return ReplyBuilder.resource(writer.bytes, for: context)
  }

  private func retryTask(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.taskID()
    try await context.requireEmptyBody()
    let view = try view(context)
    let idempotent = try IdempotentRequest(context, body: [], service: service)
    return try await idempotent.run {
      let (task, isNew) = try await view.retry(id) { task in
        idempotent?.reply(
          status: 201, type: "application/json", location: "/v1/tasks/\(task.id)", body: task.json)
      }
      if isNew {
        let location: HTTPFields = [.location: "/v1/tasks/\(task.id)"]
        return ReplyBuilder.resource(task.json, for: context, status: 201, fields: location)
      }
      if let idempotent {
        await service.idempotency.replace(
          idempotent.reply(status: 200, type: "application/json", location: nil, body: task.json),
          of: task.sessionID)
      }
      return ReplyBuilder.resource(task.json, for: context)
    }
  }

  private func readResumeData(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    guard let data = try await view(context).resumeData(of: context.taskID()) else {
      throw Problem(.notFound, "the task has no resume data; start another task from its request")
    }
    var writer = JSONWriter()
    writer.object { $0.field("resumeData", data) }
    return ReplyBuilder.json(writer.bytes)
  }

  private func patchTask(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.taskID()
    _ = try context.bodyType(.json, .mergePatch)
    let bytes = try await context.request.body.collect(upTo: Limits.jsonBytes.value)
    let payload = try TaskPatchPayload(JSONParser.parse(bytes))
    let ifMatch = context.field(.ifMatch)
    let task = try await view(context).patch(id, payload.patch, payload.request) { task in
      EntityTag.permits(ifMatch, EntityTag.of(task.json))
    }
    return ReplyBuilder.resource(task.json, for: context)
  }
}
