internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// A client's `PUT` of a request's body, on its way to the origin.
package struct BodyUpload: Sendable {
  let task: TaskID
  let stream: UploadStream
  /// Seconds without a byte after which the task ends (timeoutIntervalForRequest).
  package let timeout: Double
  private let service: TransferService

  init(task: TaskID, stream: UploadStream, timeout: Double, service: TransferService) {
    self.task = task
    self.stream = stream
    self.timeout = timeout
    self.service = service
  }

  /// Takes bytes, and returns when there is room for more; false where nobody wants them any more.
  package func write(_ bytes: [UInt8]) async -> Bool { await stream.write(bytes) }

  /// That was all of it; true once the origin has taken it, false where the task ended or went elsewhere before.
  package func finish() async -> Bool { await stream.finish() == .sent }

  /// Calls `action` once nobody wants the bytes any more, which may be now.
  package func whenAbandoned(_ action: @escaping @Sendable () -> Void) { stream.whenAbandoned(action) }

  /// Why it cannot be the request's body: it is not as long as that says.
  package var fault: String? { stream.fault?.description }

  /// The client left early.
  package func fail() {
    stream.fail()
    service.forgetUpload(self)
  }
}

extension TransferService {
  /// Opens the way for the body of a task that streams it. One at a time, and again only when the task asks again.
  func openUpload(of id: TaskID, length: Int64?) async throws(ServiceError) -> BodyUpload {
    let result: Result<(UploadStream, Double), ServiceError>? = await withCheckedContinuation {
      continuation in
      registry.withLock { registry in
        registry.whenCreated(id) { [self] registry in
          continuation.resume(returning: takeUpload(length, for: id, &registry))
        }
      }
    }
    guard let result else {
      _ = try await task(id)
      throw .bodyStreamNotWanted
    }
    let (stream, timeout) = try result.get()
    return BodyUpload(task: id, stream: stream, timeout: timeout, service: self)
  }

  /// The way to the task, and its timeoutIntervalForRequest; nil where the task has ended, or there is none.
  private func takeUpload(
    _ length: Int64?, for id: TaskID, _ registry: inout TransferRegistry
  ) -> Result<(UploadStream, Double), ServiceError>? {
    guard let entry = registry.tasks[id], !entry.isEnding,
      let configuration = registry.sessions[entry.task.sessionID]?.session.configuration
    else { return nil }
    guard entry.task.currentRequest.body?.isStream == true else { return .failure(.noBodyStream) }
    guard entry.task.state != .canceling else { return .failure(.bodyStreamNotWanted) }
    guard entry.upload == .none else { return .failure(.bodyStreamNotWanted) }
    let request = entry.task.currentRequest
    let stream = UploadStream(length: length, expected: request.declaredLength)
    registry.tasks[id]?.upload = .ready(stream)
    registry.tasks[id]?.task.progress.countOfBytesExpectedToSend = stream.length ?? -1
    if case .bodyStream = entry.question?.kind {
      var change = StoreChange()
      provideBody(id, &registry, &change)
      recordAny(change)
    }
    return .success((stream, request.timeoutInterval ?? configuration.timeoutIntervalForRequest))
  }

  /// Hands the body that a client is sending to the transfer that asked for it.
  func provideBody(_ id: TaskID, _ registry: inout TransferRegistry, _ change: inout StoreChange) {
    guard case .ready(let stream) = registry.tasks[id]?.upload, let task = registry.tasks[id]?.task else {
      return
    }
    registry.tasks[id]?.upload = .used(stream)
    let decision = settle(id, .answered, answer: nil, &registry, &change)
    carrier(of: task.sessionID).answer(
      id, in: task.sessionID, to: decision?.question, .bodyStream(stream), into: &change)
  }

  func forgetUpload(_ upload: BodyUpload) {
    registry.withLock { registry in
      guard case .ready(let stream) = registry.tasks[upload.task]?.upload, stream === upload.stream else {
        return
      }
      registry.tasks[upload.task]?.upload = .none
      // What was announced goes with it.
      let declared = registry.tasks[upload.task]?.task.currentRequest.declaredLength
      registry.tasks[upload.task]?.task.progress.countOfBytesExpectedToSend = declared ?? -1
    }
  }
}
