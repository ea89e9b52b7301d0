internal import EventLoop
internal import FoundationEssentials
internal import JSON
internal import Synchronization

/// The requests to the service about one task.
extension FerrySessionTask {
  /// The bodies that the creation of a task carries itself, in bytes. A larger body is stored first.
  private static let inlineBody = 64 << 10

  func send(_ command: TaskCommand) async {
    do throws(FerryError) {
      let service = try await session.started()
      if command == .create { return try await create(in: service) }
      guard let id else { return }
      switch command {
      case .create: break
      case .resume: _ = try await service.post("/v1/tasks/\(id)/resume")
      case .suspend: _ = try await service.post("/v1/tasks/\(id)/suspend")
      case .cancel(let producing):
        let reply = try await service.post("/v1/tasks/\(id)/cancel") { writer in
          writer.field("producingResumeData", producing)
        }
        let data = reply["resumeData"]?.string.map { Data($0.utf8) }
        let handlers = shared.withLock { shared in
          shared.hasResumeData = data != nil
          defer { shared.cancelHandlers = [] }
          return shared.cancelHandlers
        }
        session.delegateQueue.addOperation { for handler in handlers { handler(data) } }
      }
    } catch {
      // The service keeps its state if a later command fails, and a task that has ended needs none.
      if command == .create { apply(.refused(error)) }
      if case .cancel = command, error.code == .serviceUnreachable { apply(.refused(error)) }
    }
  }

  // MARK: Creation

  private func create(in service: SessionService) async throws(FerryError) {
    let resumeData = shared.withLock { $0.resumeData }
    if resumeData == nil {
      guard let scheme = originalRequest?.url?.scheme?.lowercased(), ["http", "https"].contains(scheme) else {
        throw FerryError(
          .unsupportedURL, message: "the URL of a request must begin with http:// or https://",
          failingURL: originalRequest?.url)
      }
    }
    let body = try await store(in: service)
    session.willCreate()
    let id: String?
    do throws(FerryError) { id = try await submit(body, resumeData, in: service) } catch {
      await session.didCreate(self, id: nil)
      throw error
    }
    await session.didCreate(self, id: id)
    guard id != nil else { throw FerryError(.serviceUnreachable, message: "the reply has no task") }
  }

  private func submit(
    _ body: FerryRequest.BodyReference, _ resumeData: String?, in service: SessionService
  ) async throws(FerryError) -> String? {
    let (kind, style, options, delegate) = shared.withLock { shared in
      (shared.machine.kind, shared.machine.style, shared.options, shared.delegate)
    }
    let reply = try await service.create("/v1/sessions/\(service.id)/tasks") { writer in
      writer.field("kind", kind.rawValue)
      if let resumeData {
        writer.field("resumeData", resumeData)
      } else if let originalRequest {
        writer.key("request")
        originalRequest.encode(into: &writer, body: body)
      }
      writer.field("resume", true)
      options.encode(into: &writer)
      let own = DelegateDecisions(delegate)
      if !session.isBackground, delegate != nil || style != .delegate {
        writer.objectField("delegate") {
          own.encode(into: &$0, isTask: true, hasHandler: style != .delegate)
        }
      }
    }
    return reply["id"]?.string
  }

  /// Prepares the body of the request.
  private func store(in service: SessionService) async throws(FerryError) -> FerryRequest.BodyReference {
    switch source {
    case .stream: return .stream
    case .data(let data): return try await store(data, in: service)
    case .file(let url): return .file(try await storeFile(url, in: service))
    case .none:
      guard let request = originalRequest else { return .none }
      if request.httpBodyStream != nil { return .stream }
      guard let data = request.httpBody else { return .none }
      return try await store(data, in: service)
    }
  }

  private func store(
    _ data: Data, in service: SessionService
  ) async throws(FerryError) -> FerryRequest.BodyReference {
    if data.count <= Self.inlineBody, !session.isBackground { return .bytes(data) }
    return .file(keep(try await service.store(.bytes(Array(data)))))
  }

  private func storeFile(_ url: URL, in service: SessionService) async throws(FerryError) -> String {
    let file = try UploadFile(url)
    return keep(
      try await service.store(.producer(length: file.size) { try file.read() }))
  }

  private func keep(_ file: String) -> String {
    shared.withLock { $0.storedFile = file }
    return file
  }

  // MARK: Answers

  /// Answers a decision. An answer that comes too late has no effect.
  func answer(
    _ decision: String?, _ answer: FerryDecisionAnswer, then: @escaping @Sendable () -> Void = {}
  ) {
    guard let decision else { return }
    Task {
      if let service = try? await session.started() {
        _ = try? await service.post("/v1/decisions/\(decision)") { answer.encode(into: &$0) }
      }
      then()
    }
  }

  /// Asks for the body of a streamed upload, and sends it.
  func askForBody() {
    let stream = shared.withLock { shared in
      defer { shared.hasUsedStream = true }
      return shared.hasUsedStream ? nil : originalRequest?.httpBodyStream
    }
    if let stream { return sendBody(stream) }
    session.delegateQueue.addOperation { [self] in
      let delegate = delegate ?? session.delegate as? any FerrySessionTaskDelegate
      guard let delegate else { return failBody() }
      delegate.urlSession(session, task: self) { [self] stream in
        if let stream { sendBody(stream) } else { failBody() }
      }
    }
  }

  private func failBody() {
    apply(.bodyFailed(FerryError(.requestBodyStreamExhausted, message: "the delegate has supplied no body")))
  }

  private func sendBody(_ stream: FerryBodyStream) {
    Task {
      guard let id, let service = try? await session.started() else { return }
      do throws(FerryError) {
        try await service.send(
          .producer(length: stream.length) { try await stream.next().map { Array($0) } },
          to: "/v1/tasks/\(id)/body")
      } catch {
        // The task's own end has the reason, unless the program's stream has failed.
        if error.code == .requestBodyStreamExhausted { apply(.bodyFailed(error)) }
      }
    }
  }

  // MARK: Bodies of responses

  func readBody() async {
    var (offset, attempts) = (Int64(0), 0)
    while true {
      do throws(FerryError) {
        let service = try await session.started()
        guard let id else { return }
        let body = try await service.body(of: id, from: offset)
        while let bytes = try await body.next() {
          guard !Task.isCancelled else { return }
          (offset, attempts) = (offset + Int64(bytes.count), 0)
          apply(.bodyBytes(bytes))
          // The service holds the transfer while the delegate is busy.
          await session.delegateQueue.drained()
        }
        return apply(.bodyEnded(nil))
      } catch {
        attempts += 1
        guard error.code == .serviceUnreachable, attempts < 4, !Task.isCancelled else {
          return apply(.bodyEnded(error))
        }
      }
    }
  }

  func fetchFile() async {
    var response: HTTPFerryResponse?
    do throws(FerryError) {
      let service = try await session.started()
      guard let id else { return }
      let task = try await service.get("/v1/tasks/\(id)")
      response = task["response"]?.present.map { HTTPFerryResponse($0) }
      if let path = task["destination"]?["file"]?.string {
        shared.withLock { $0.isPlaced = true }
        return apply(.fileArrived(response, .success(URL(fileURLWithPath: path))))
      }
      let file = try DownloadFile()
      let body = try await service.body(of: id, from: 0)
      while let bytes = try await body.next() { try file.write(bytes) }
      file.keep()
      apply(.fileArrived(response, .success(file.url)))
    } catch { apply(.fileArrived(response, .failure(error))) }
  }
}
