package import EngineAPI
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// A client's `PUT` of a request's body, on its way to the origin.
package struct BodyUpload: Sendable {
  let task: TaskID
  package let stream: UploadStream
  /// Seconds without a byte after which the task ends (timeoutIntervalForRequest).
  package let timeout: Double
  private let room: MachineRoom

  init(task: TaskID, stream: UploadStream, timeout: Double, room: MachineRoom) {
    self.task = task
    self.stream = stream
    self.timeout = timeout
    self.room = room
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
    _ = room.visit(task: task) { [task, stream] machine, step in
      machine.take(.withdraw(task, stream), &step)
    }
  }
}

extension Bodies {
  /// Opens the way for the body of a task that streams it. One at a time, and again only when the task asks again.
  func openUpload(of id: TaskID, length: Int64?) async throws(ServiceError) -> BodyUpload {
    guard let offered = await offer(length, to: id) else {
      _ = try await tasks.task(id)
      throw .bodyStreamNotWanted
    }
    let (stream, timeout) = try offered.get()
    return BodyUpload(task: id, stream: stream, timeout: timeout, room: room)
  }

  /// The way to the task, and its timeoutIntervalForRequest; nil where the task has ended, or there is none.
  private func offer(
    _ length: Int64?, to id: TaskID
  ) async -> Result<(UploadStream, Double), ServiceError>? {
    await withCheckedContinuation { continuation in
      let isThere = room.visit(task: id) { machine, step in
        guard let task = machine.task(id)?.task else { return continuation.resume(returning: nil) }
        let request = task.currentRequest
        let stream = UploadStream(length: length, expected: request.declaredLength)
        switch machine.take(.offer(id, stream, length: stream.length), &step) {
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
