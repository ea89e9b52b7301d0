package import EngineAPI
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// A client's `PUT` of a request's body, which streams to the origin.
package struct BodyUpload: Sendable {
  let task: TaskID
  package let stream: UploadStream
  /// Seconds without a byte after which the task ends (timeoutIntervalForRequest).
  package let timeout: Double
  private let runtime: SessionRuntime

  init(task: TaskID, stream: UploadStream, timeout: Double, runtime: SessionRuntime) {
    self.task = task
    self.stream = stream
    self.timeout = timeout
    self.runtime = runtime
  }

  /// Appends bytes, and returns when there is room for more. Returns `false` if the bytes are no longer needed.
  package func write(_ bytes: [UInt8]) async -> Bool { await stream.write(bytes) }

  /// Ends the body. Returns `true` after the origin has received all of it. Returns `false` if the task ended, or its request was
  /// replaced, before that.
  package func finish() async -> Bool { await stream.finish() == .sent }

  /// Calls `action` when the bytes are no longer needed, possibly at once.
  package func whenAbandoned(_ action: @escaping @Sendable () -> Void) { stream.whenAbandoned(action) }

  /// The reason why the body is invalid: its length differs from the declared length.
  package var lengthMismatch: String? { stream.fault?.description }

  /// Ends the upload, because the client left before its end.
  package func fail() {
    stream.fail()
    _ = runtime.update(task: task) { [task, stream] machine, step in
      machine.apply(.withdraw(task, stream), &step)
    }
  }
}

extension Bodies {
  /// Opens the upload of a task that streams its body. There is one upload at a time, and another only if the task requests the
  /// body again.
  func openUpload(of id: TaskID, length: Int64?) async throws(ServiceError) -> BodyUpload {
    guard let offered = await offer(length, to: id) else {
      _ = try await tasks.task(id)
      throw .bodyStreamNotWanted
    }
    let (stream, timeout) = try offered.get()
    return BodyUpload(task: id, stream: stream, timeout: timeout, runtime: runtime)
  }

  /// - Returns: the task's upload stream and its timeoutIntervalForRequest, or `nil` if the task has ended or does not exist.
  private func offer(
    _ length: Int64?, to id: TaskID
  ) async -> Result<(UploadStream, Double), ServiceError>? {
    await withCheckedContinuation { continuation in
      let isThere = runtime.update(task: id) { machine, step in
        guard let task = machine.task(id)?.task else { return continuation.resume(returning: nil) }
        let request = task.currentRequest
        let stream = UploadStream(length: length, expected: request.declaredLength)
        switch machine.apply(.offer(id, stream, length: stream.length), &step) {
        case .task:
          let timeout = machine.session.configuration.timeoutIntervalForRequest
          continuation.resume(returning: .success((stream, request.timeoutInterval ?? timeout)))
        case .refused(.upload(.noBodyStream)): continuation.resume(returning: .failure(.noBodyStream))
        case .refused: continuation.resume(returning: .failure(.bodyStreamNotWanted))
        default: continuation.resume(returning: nil)
        }
      }
      if !isThere { continuation.resume(returning: nil) }
    }
  }
}
