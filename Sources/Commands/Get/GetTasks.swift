internal import FerryClient
internal import JSON

/// The requests of `ferry get` to its service.
struct GetTasks {
  private static let attempts = 6
  private static let pause = Duration.milliseconds(500)

  let connection: ServiceConnection
  let plan: GetPlan

  /// Creates tasks. Each result is the id of a task or the reason why it was refused.
  func create(_ items: [Int]) async -> [(item: Int, result: Result<String, TransferItem.Failure>)] {
    var body: [UInt8] = []
    for item in items { body += plan.line(item) }
    // A repeat after a broken connection creates no second tasks.
    let key = "get-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    let request = ServiceRequest(
      "POST", "/v1/tasks", fields: [("Content-Type", "application/x-ndjson"), ("Idempotency-Key", key)],
      body: .bytes(body))
    do throws(ServiceError) {
      let reply = try await send(request)
      let lines = reply.bytes.split(separator: UInt8(ascii: "\n"))
      return items.enumerated().map { number, item in
        (item, number < lines.count ? Self.result(Array(lines[number])) : Self.missing)
      }
    } catch {
      let failure = TransferItem.Failure(cause: CommandFailure(error).cause, message: error.description)
      return items.map { ($0, .failure(failure)) }
    }
  }

  private static let missing = Result<String, TransferItem.Failure>.failure(
    .init(cause: .unreachable, message: "the service did not reply for this task"))

  private static func result(_ line: [UInt8]) -> Result<String, TransferItem.Failure> {
    guard let json = try? JSONParser.parse(line) else { return missing }
    if let id = json["id"]?.string { return .success(id) }
    let status = json["status"]?.integer.map { Int($0) } ?? 0
    let problem = ServiceProblem(status: status, json)
    let isMalformed = status == 400 || status == 422
    return .failure(.init(cause: isMalformed ? .usage : .refused, message: problem.description))
  }

  /// Repeats a failed task of an earlier command, and returns the new task.
  func retry(_ task: String) async -> Result<String, TransferItem.Failure> {
    do throws(ServiceError) {
      let reply = try await send(
        ServiceRequest(
          "POST", "/v1/tasks/\(task)/retry",
          fields: [("Idempotency-Key", "retry-\(task)-\(UInt32.random(in: 0 ... .max))")]))
      return .success(try reply.json()["id"]?.string ?? task)
    } catch {
      return .failure(.init(cause: CommandFailure(error).cause, message: error.description))
    }
  }

  func resume(_ task: String) async {
    _ = try? await send(.command("resume", task: task))
  }

  func deleteBody(_ task: String) async {
    _ = try? await connection.send(ServiceRequest("DELETE", "/v1/tasks/\(task)/body"))
  }

  /// Suspends tasks, so that the same command can resume them.
  func suspend(_ tasks: [String]) async {
    for task in tasks { _ = try? await connection.send(.command("suspend", task: task)) }
  }

  /// Returns the tasks of the target directory, the newest first.
  func known() async throws(ServiceError) -> [[TransferReport]] {
    guard let label = plan.directoryLabel else { return [] }
    let query = [("label", "\(GetLabels.directory):\(label)"), ("order", "newest")]
    let tasks = try await ServicePages.items("/v1/tasks", query, invalid: { $0 }) {
      (request) async throws(ServiceError) in
      try await send(request).json()
    }
    return tasks.map { TransferReport.of(task: $0) }.filter { !$0.isEmpty }
  }

  /// Sends a request that may be repeated.
  private func send(_ request: ServiceRequest) async throws(ServiceError) -> ServiceReply {
    var left = Self.attempts
    while true {
      do throws(ServiceError) { return try await connection.send(request) } catch {
        left -= 1
        switch error {
        case .unreachable where left > 0, .timedOut where left > 0: break
        case .problem(let problem) where left > 0 && [409, 429, 503].contains(problem.status): break
        default: throw error
        }
        do { try await Task.sleep(for: Self.pause) } catch { throw .cancelled }
      }
    }
  }

  /// The events of the tasks of the target directory.
  func events(withProgress: Bool) -> ServiceEvents {
    var types = [
      "task.didCreate", "task.didChangeState", "downloadTask.didResumeAtOffset",
      "downloadTask.didFinishDownloading", "task.didComplete",
    ]
    if withProgress { types.append("downloadTask.didWriteData") }
    var query = [("types", types.joined(separator: ","))]
    if let label = plan.directoryLabel { query.append(("label", "\(GetLabels.directory):\(label)")) }
    return connection.events(ServiceRequest("GET", "/v1/events", query: query))
  }
}
