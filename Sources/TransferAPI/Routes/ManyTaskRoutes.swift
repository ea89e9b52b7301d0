internal import Cluster
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

/// A command for all tasks that match a filter.
enum TaskVerb: String, CaseIterable, Sendable {
  case cancel, suspend, resume, retry, delete

  /// The route of the command for one task.
  var route: (method: HTTPRequest.Method, pattern: String) {
    self == .delete ? (.delete, "/v1/tasks/{task}") : (.post, "/v1/tasks/{task}/\(rawValue)")
  }

  /// Returns whether the command has an effect on a task.
  func hasEffect(on task: TransferTask) -> Bool {
    switch self {
    case .cancel: task.state == .running || task.state == .suspended
    case .suspend: task.state == .running || task.state == .suspended
    case .resume: task.state == .suspended
    case .retry:
      task.phase == .waitingToRetry
        || task.state == .completed && task.error != nil && task.downloadTask == nil
    case .delete: task.state == .completed
    }
  }
}

extension TransferAPI {
  static var manyTaskRoutes: [Route] {
    TaskVerb.allCases.map { verb in
      Route("POST", "/v1/tasks/\(verb.rawValue)") { try await $0.command(verb, $1) }
    }
  }

  /// The tasks that are read and commanded at once.
  private static let tasksAtOnce = 500

  private func command(_ verb: TaskVerb, _ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let violations = Violations()
    let bytes = try await context.request.body.collect(upTo: Limits.jsonBytes.value)
    let json = try await context.with(RequestBody(bytes)).optionalJSON()
    var reader = ObjectReader(json, at: "", violations)
    let filter = TaskFilterPayload.filter(&reader)
    let isDryRun = reader.bool("dryRun") ?? false
    let wantsAll = reader.bool("all") ?? false
    if wantsAll, !filter.isEmpty { reader.reject("all", "must be left out if there are filters") }
    reader.finish()
    guard violations.isEmpty else { throw Problem(violations) }
    guard wantsAll || !filter.isEmpty else {
      // An empty variable in a script must not concern all tasks.
      throw Problem(
        .unprocessable,
        violations: [
          FieldViolation(pointer: "", detail: "must have a filter; {\"all\":true} selects all tasks")
        ])
    }
    return try await command(verb, filter, isDryRun: isDryRun, sending: bytes, context)
  }

  /// Gives a command to all tasks that match a filter, and replies with their numbers.
  /// - Parameter json: the request's body, which other services receive for their ephemeral sessions; `nil` if tasks of these sessions
  ///   cannot match.
  func command(
    _ verb: TaskVerb, _ filter: TaskFilter, isDryRun: Bool = false, sending json: [UInt8]? = nil,
    _ context: RequestContext
  ) async throws -> ServerResponse {
    // The service that the client has asked stores the reply for all services.
    let idempotent =
      context.isFromPeer ? nil : try IdempotentRequest(context, body: json ?? [], service: service)
    return try await idempotent.run {
      var counts = try await carryOut(verb, filter, isDryRun: isDryRun, context)
      if let json, let tenant = context.tenant, !context.isFromPeer {
        for reply in await service.cluster.sendToOthers(context.request, json, of: tenant) {
          counts.add(reply.flatMap { try? JSONParser.parse($0) })
        }
      }
      // A repeat of the request continues with the tasks that failed.
      if let idempotent, counts.failed == 0 {
        await service.idempotency.replace(
          idempotent.reply(status: 200, type: "application/json", location: nil, body: counts.json), of: nil)
      }
      return ReplyBuilder.json(counts.json)
    }
  }

  private struct CommandCounts: Sendable {
    var matched = 0
    /// The tasks that the command has changed.
    var changed = 0
    var failed = 0

    /// Adds the reply of another service. The tasks of a service that does not answer are unknown, and count as one failure.
    mutating func add(_ reply: JSONValue?) {
      guard let reply else {
        failed += 1
        return
      }
      matched += Int(reply["matched"]?.integer ?? 0)
      changed += Int(reply["changed"]?.integer ?? 0)
      failed += Int(reply["failed"]?.integer ?? 0)
    }

    var json: [UInt8] {
      var writer = JSONWriter()
      writer.object { writer in
        writer.field("matched", matched)
        writer.field("changed", changed)
        writer.field("failed", failed)
      }
      return writer.bytes
    }
  }

  /// Gives a command to all tasks that match a filter and were created before the request.
  private func carryOut(
    _ verb: TaskVerb, _ filter: TaskFilter, isDryRun: Bool, _ context: RequestContext
  ) async throws -> CommandCounts {
    let view = try view(context)
    let start = service.identifiers.now()
    var counts = CommandCounts()
    var after: TaskID?
    // The walk ends at the newest id of the start time, so that tasks created meanwhile do not prolong it.
    let last = TaskID.last(at: start)
    repeat {
      let page = try await view.tasks(
        of: nil, filter, after: after, order: .oldest, last: last, limit: Self.tasksAtOnce,
        inMemoryOnly: context.isFromPeer)
      let tasks = page.tasks.filter { $0.createdAt <= start }
      counts.matched += tasks.count
      if !isDryRun {
        let results = await command(verb, tasks.filter(verb.hasEffect).map(\.id), context)
        counts.changed += results.count { $0 }
        counts.failed += results.count { !$0 }
      }
      after = page.end
    } while after != nil && !Task.isCancelled
    return counts
  }

  /// Gives a command to each task, at the service that owns its session.
  /// - Returns: whether each command succeeded.
  private func command(_ verb: TaskVerb, _ tasks: [TaskID], _ context: RequestContext) async -> [Bool] {
    let (method, pattern) = verb.route
    guard let route = Self.routes.first(where: { $0.method == method.rawValue && $0.pattern == pattern })
    else {
      preconditionFailure("\(method) \(pattern) is not a route")
    }
    let key = verb == .retry ? try? IdempotentRequest.key(of: context) : nil
    return await withTaskGroup(of: Bool.self) { group in
      for task in tasks {
        // A repeat of this request retries no task twice, even if the service died before it stored the reply.
        let single = context.with(
          method, path: pattern.replacing("{task}", with: "\(task)"),
          parameters: ["task": "\(task)"],
          fields: key.map { [.idempotencyKey: IdempotentRequest.key(of: "\(task)", within: $0)] } ?? [:])
        group.addTask {
          guard let reply = try? await carryOut(route, single) else { return false }
          reply.body.close()
          return (200...299).contains(reply.head.status.code)
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }
}
