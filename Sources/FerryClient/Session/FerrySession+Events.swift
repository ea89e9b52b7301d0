internal import EventLoop
internal import FoundationEssentials
internal import JSON
internal import Synchronization

/// The session in the service, and its event stream. One stream serves all tasks of the session.
extension FerrySession {
  /// Returns the session in the service, which the first call creates.
  func started() async throws(FerryError) -> SessionService {
    let start = state.withLock { state in
      if let start = state.start { return start }
      let start = Task { try await self.start() as SessionService }
      state.start = start
      return start
    }
    do { return try await start.value } catch let error as FerryError { throw error } catch {
      throw FerryError(.unknown, message: "\(error)")
    }
  }

  private func start() async throws(FerryError) -> SessionService {
    do throws(FerryError) {
      let connection = try ServiceConnections.connection(to: settings.server)
      guard !isShared else {
        let service = SessionService(id: "ses_shared", connection: connection)
        // Events of other programs precede the stream, so it begins with new events.
        try await listen(service, after: nil)
        return service
      }
      return try await create(on: connection)
    } catch {
      // A later task tries again, unless another program uses the identifier with another configuration.
      state.withLock { $0.start = nil }
      if isBackground, error.code == .serviceRefused { becomeInvalid(error) }
      throw error
    }
  }

  private func create(on connection: ServiceConnection) async throws(FerryError) -> SessionService {
    let (delegate, description) = state.withLock { ($0.delegate, $0.description) }
    var writer = JSONWriter()
    writer.object { writer in
      settings.encode(into: &writer)
      if let description { writer.field("description", description) }
      guard delegate != nil || isBackground else { return }
      writer.objectField("delegate") { writer in
        DelegateDecisions(delegate).encode(into: &writer)
        writer.field("decisionTimeout", settings.decisionTimeout)
      }
    }
    var request = ServiceRequest("POST", "/v1/sessions", json: writer.bytes)
    request.fields.append(("Idempotency-Key", UUID().uuidString))
    let reply: ServiceReply
    let json: JSONValue
    do throws(ServiceError) {
      reply = try await connection.send(request)
      json = try reply.json()
    } catch { throw FerryError(error) }
    guard let id = json["id"]?.string else {
      throw FerryError(.serviceUnreachable, message: "the reply has no session")
    }
    let service = SessionService(id: id, connection: connection)
    // The events of a new session are few, so the stream begins with the first.
    let isNew = reply.status == 201
    try await listen(service, after: isNew ? "0" : nil) {
      if !isNew { try await self.adoptTasks(of: service) }
    }
    return service
  }

  /// Opens the event stream, and returns when it is open.
  /// - Parameter whenOpen: runs before the first event is handled.
  private func listen(
    _ service: SessionService, after position: String?,
    _ whenOpen: @escaping @Sendable () async throws -> Void = {}
  ) async throws(FerryError) {
    let opening = StreamOpening()
    let stream = service.connection.events(
      ServiceRequest("GET", "/v1/sessions/\(service.id)/events"), after: position)
    let events = Task {
      do {
        for try await element in stream {
          switch element {
          case .connected:
            if !opening.hasEnded { try await whenOpen() }
            opening.end(nil)
          case .disconnected(let error): opening.end(FerryError(error))
          case .didReset: await self.readAll(service)
          case .event(let event): await self.handle(event, service)
          }
        }
      } catch {
        let failure = error as? FerryError ?? (error as? ServiceError).map { FerryError($0) }
        opening.end(failure ?? FerryError(.serviceUnreachable, message: "\(error)"))
        self.fail(failure ?? FerryError(.serviceUnreachable, message: "\(error)"))
      }
    }
    state.withLock { $0.events = events }
    if let error = await opening.result() {
      events.cancel()
      throw error
    }
  }

  /// Ends the session's tasks, because the service has refused the stream.
  private func fail(_ error: FerryError) {
    guard state.withLock({ !$0.isInvalid }) else { return }
    for task in state.withLock({ Array($0.tasks.values) }) { task.apply(.refused(error)) }
  }

  // MARK: Events

  private func handle(_ event: ServerSentEvent, _ service: SessionService) async {
    guard let json = try? JSONParser.parse(event.data, isLimited: false) else { return }
    let data = json["data"] ?? .null
    switch event.type {
    case "session.didBecomeInvalid": return becomeInvalid(nil)
    case "session.didFinishEvents":
      state.withLock { $0.hasFinishedEvents = true }
      return finishEvents()
    default: break
    }
    guard let id = json["taskId"]?.string else { return }
    let task = state.withLock { state in
      let task = state.byID[id]
      // The reply to a creation may arrive after the first events of its task.
      if task == nil, state.creations > 0 { state.early[id, default: []].append((event.type, data)) }
      return task
    }
    if let task { await deliver(event.type, data, to: task, service) }
  }

  private func deliver(
    _ type: String, _ data: JSONValue, to task: FerrySessionTask, _ service: SessionService
  ) async {
    guard var event = TaskEvent(type, data) else { return }
    // The events of the download wait until the delegate knows it.
    if case .becameDownload = event { willCreate() }
    if case .completed(var error?, let size) = event, data["error"]?["resumeDataAvailable"]?.bool == true,
      let id = task.id
    {
      let reply = try? await service.get("/v1/tasks/\(id)/resume-data")
      let data = reply?["resumeData"]?.string.map { Data($0.utf8) }
      if data != nil { task.shared.withLock { $0.hasResumeData = true } }
      if task is FerrySessionUploadTask {
        error.uploadTaskResumeData = data
      } else {
        error.downloadTaskResumeData = data
      }
      event = .completed(error, size: size)
    }
    // Background uploads have no event of their response.
    if case .completed = event, data["status"]?.integer != nil, task.response == nil, let id = task.id,
      let response = try? await service.get("/v1/tasks/\(id)")["response"]?.present
    {
      task.apply(.responseKnown(HTTPFerryResponse(response)))
    }
    task.apply(.event(event))
  }

  /// Reads all tasks, because events were missed.
  private func readAll(_ service: SessionService) async {
    for (id, task) in state.withLock({ $0.byID }) {
      if let json = try? await service.get("/v1/tasks/\(id)") { task.apply(.snapshot(TaskSnapshot(json))) }
    }
  }

  // MARK: Creations

  /// A creation begins, whose events may arrive before its reply.
  func willCreate() { state.withLock { $0.creations += 1 } }

  /// A creation has ended. The task receives the events that have arrived before the reply, and then those of the stream.
  /// - Parameter id: the identifier of the task; `nil` if it was not created.
  func didCreate(_ task: FerrySessionTask, id: String?) async {
    if let id { task.didCreate(id) }
    while let events = nextEarlyEvents(of: task, id) {
      guard let service = try? await started() else { return }
      for event in events { await deliver(event.type, event.data, to: task, service) }
    }
  }

  /// Returns the next early events; `nil` after the task has become known to the stream.
  private func nextEarlyEvents(
    of task: FerrySessionTask, _ id: String?
  ) -> [(type: String, data: JSONValue)]? {
    state.withLock { state in
      if let id, let events = state.early.removeValue(forKey: id) { return events }
      if let id, state.tasks[task.taskIdentifier] != nil { state.byID[id] = task }
      state.creations -= 1
      if state.creations == 0 { state.early = [:] }
      return nil
    }
  }

  // MARK: Background sessions

  /// Adds the tasks of an earlier run of the program, with their missed events and pending decisions.
  private func adoptTasks(of service: SessionService) async throws(FerryError) {
    let tasks = try await ServicePages.items(
      "/v1/sessions/\(service.id)/tasks", [("order", "oldest")], invalid: { FerryError($0) }
    ) { (request) async throws(FerryError) in try await service.json(request) }
    // The program itself has cancelled a task, and has kept its resume data.
    let found = tasks.filter { FerryError($0["error"])?.code != .cancelled }.compactMap(adopt)
    // If all tasks have ended, the service has reported the end of the events before.
    let haveEnded = !found.isEmpty && found.allSatisfy(\.snapshot.isCompleted)
    state.withLock { $0.hasFinishedEvents = haveEnded }
    for (task, snapshot) in found { task.apply(.snapshot(snapshot)) }
    let decisions = try await service.get(
      "/v1/sessions/\(service.id)/decisions", query: [(name: "state", value: "pending")])
    for decision in decisions["items"]?.elements ?? [] {
      guard let type = decision["type"]?.string, let id = decision["taskId"]?.string,
        let task = state.withLock({ $0.byID[id] })
      else { continue }
      if let event = TaskEvent(type, decision["data"] ?? .null, decision: decision["id"]?.string) {
        task.apply(.event(event))
      }
    }
  }

  private func adopt(_ json: JSONValue) -> (task: FerrySessionTask, snapshot: TaskSnapshot)? {
    guard let id = json["id"]?.string,
      let kind = json["kind"]?.string.flatMap({ TaskCallMachine.Kind(rawValue: $0) })
    else { return nil }
    let snapshot = TaskSnapshot(json)
    let machine = TaskCallMachine(adopting: snapshot, kind: kind)
    let request = FerryRequest(json["originalRequest"])
    let task: FerrySessionTask =
      switch kind {
      case .data: adopt(id, request, machine) { FerrySessionDataTask($0, in: self) }
      case .upload: adopt(id, request, machine) { FerrySessionUploadTask($0, in: self) }
      case .download: adopt(id, request, machine) { FerrySessionDownloadTask($0, in: self) }
      }
    task.shared.withLock { $0.options = TaskOptions(json) }
    state.withLock { $0.byID[id] = task }
    return (task, snapshot)
  }

  /// Calls the delegate when all events of a background session were delivered.
  private func finishEvents() {
    let isDue = state.withLock { state in
      guard state.hasFinishedEvents, state.byID.isEmpty else { return false }
      defer { (state.hasFinishedEvents, state.endsSinceFinish) = (false, 0) }
      return state.endsSinceFinish > 0
    }
    guard isDue else { return }
    delegateQueue.addOperation { [self] in
      delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: self)
    }
  }

  // MARK: Ends

  /// Drops a task after its last call. In a background session, the service deletes it, so that a later run of the program does not
  /// receive its events again.
  func didEnd(_ task: FerrySessionTask, storedFile: String?) {
    let id = task.id
    state.withLock { state in
      state.tasks[task.taskIdentifier] = nil
      if let id { state.byID[id] = nil }
      state.endsSinceFinish += 1
    }
    finishEvents()
    guard state.withLock({ $0.start != nil }) else { return endIfUnused() }
    Task {
      guard let service = try? await started() else { return endIfUnused() }
      // The bytes of resume data belong to the task.
      if isBackground, let id, !task.hasResumeData { try? await service.delete("/v1/tasks/\(id)") }
      if let storedFile { try? await service.delete("/v1/files/\(storedFile)") }
      endIfUnused()
    }
  }
}

/// The result of the first attempt to open a stream.
private final class StreamOpening: Sendable {
  private struct Ending {
    let error: FerryError?
  }
  private let ending = Mutex<Ending?>(nil)
  private let waiter = Waiter()

  var hasEnded: Bool { ending.withLock { $0 != nil } }

  func end(_ error: FerryError?) {
    ending.withLock { $0 = $0 ?? Ending(error: error) }
    waiter.resume()
  }

  func result() async -> FerryError? {
    await waiter.wait()
    return ending.withLock { $0?.error }
  }
}
