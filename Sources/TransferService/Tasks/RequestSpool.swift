internal import Limits
internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferModel

// Within `TransferService`, `Limits` is the service's own.
private let mostInline = Limits.inlineBodyBytes.value

/// Keeps large bodies of requests in files, encrypted, so that a task that does not run yet has none in memory.
struct RequestSpool: Sendable {
  /// Bytes of a body that stays in the task's row.
  static let inlineBytes = mostInline

  private final class Failure: Sendable {
    let last = Mutex<BlobError?>(nil)
  }

  let room: MachineRoom

  /// Writes the large bodies of tasks that are to be created, all or none.
  /// - Parameter tasks: their bodies are in files afterwards.
  /// - Returns: the files that were written, to be removed if the tasks are not created.
  func write(_ tasks: inout [NewTask], in session: TransferSession) async throws(ServiceError) -> [BlobKey] {
    var bodies: [Body] = []
    for index in tasks.indices {
      guard let bytes = tasks[index].specification.request.body?.data, bytes.count > Self.inlineBytes else {
        continue
      }
      let body = SpooledBody(size: Int64(bytes.count), blob: room.stamp, key: BlockCipher.makeKey())
      tasks[index].specification.request.body = .spooled(body)
      bodies.append((bytes, body, tasks[index].id))
    }
    return try await write(bodies, of: session)
  }

  /// Writes the body of a delegate's request to a file if it is large.
  /// - Parameter request: a large body is replaced by a reference to its file.
  /// - Returns: the file; nil if the body is small.
  func write(
    _ request: inout TransferRequest, of task: TaskID, in session: TransferSession
  ) async throws(ServiceError) -> BlobKey? {
    guard let bytes = request.body?.data, bytes.count > Self.inlineBytes else { return nil }
    // A random attempt, so that the file differs from those of earlier requests.
    let blob = BlobStamp(epoch: room.stamp.epoch, attempt: .random(in: 1...Int(Int32.max)))
    let body = SpooledBody(size: Int64(bytes.count), blob: blob, key: BlockCipher.makeKey())
    request.body = .spooled(body)
    return try await write([(bytes, body, task)], of: session).first
  }

  private typealias Body = (bytes: [UInt8], body: SpooledBody, task: TaskID)

  private func write(_ bodies: [Body], of session: TransferSession) async throws(ServiceError) -> [BlobKey] {
    guard !bodies.isEmpty else { return [] }
    let failure = await write(bodies, to: room.engine.bodies(of: session.id, session.type))
    let keys = bodies.map { $0.body.blobKey(of: $0.task) }
    guard let failure else { return keys }
    remove(keys, of: session)
    guard session.type == .ephemeral, failure.isFull else { throw .blob(failure) }
    throw .memoryFull(limit: room.engine.memoryFiles.capacity)
  }

  /// Encrypts and writes them beside each other.
  private func write(_ bodies: [Body], to blobs: any BlobStore) async -> BlobError? {
    let failure = Failure()
    await withCheckedContinuation { continuation in
      let left = Countdown(from: bodies.count) { continuation.resume() }
      for (bytes, body, task) in bodies {
        let key = body.blobKey(of: task)
        // No draft of the task: after a crash, that would be taken for the beginning of its download.
        let draft = BlobKey(.file(FileID(high: task.high, low: task.low)), .draft, body.blob)
        let writer = BlobWriter(draft, in: blobs, on: room.pool)
        room.pool.submit {
          for block in BlockCipher(key: body.key).seal(bytes) { _ = writer.append(block) }
          writer.finish(as: key) { finished in
            if case .failure(let error) = finished {
              failure.last.withLock { $0 = error }
              writer.discard()
            }
            left.count()
          }
        }
      }
    }
    return failure.last.withLock { $0 }
  }

  func remove(_ keys: [BlobKey], of session: TransferSession) {
    room.removals.remove(keys, of: session)
  }

  /// A data task that goes on as a download has the same files as the download.
  func shareFiles(in turn: borrowing Turn, of session: TransferSession) {
    guard !turn.orders.isEmpty, !turn.created.isEmpty else { return }
    let blobs = room.engine.bodies(of: session.id, session.type)
    for case .command(.answer(.becomeDownload(let download), _), let task) in turn.orders {
      let first = turn.created.first { $0.id == download }?.requestBodyKeys ?? []
      let own = room.task(task)?.task.replacementBodyKey
      for blob in first.map(\.stamp) + (own.map { [$0.stamp] } ?? []) {
        room.pool.submit {
          blobs.alias(BlobKey(task, .request, blob), as: BlobKey(download, .request, blob)) { _ in }
        }
      }
    }
  }

  /// The bytes of a task's body; nil if its file does not exist or was changed.
  func read(_ body: SpooledBody, of task: TransferTask) async throws(ServiceError) -> [UInt8]? {
    let type = room.session(task.sessionID)?.type ?? .default
    let (blobs, key) = (room.engine.bodies(of: task.sessionID, type), body.blobKey(of: task.id))
    do throws(BlobError) {
      let source = try await blobAnswer(on: room.pool) { blobs.open(key, $0) }
      let bytes = try await EncryptedBlob(source, body).bytes(at: 0, count: Int(body.size), on: room.pool)
      return bytes.count == Int(body.size) ? bytes : nil
    } catch {
      switch error.reason {
      case .gone, .torn: return nil
      default: throw .blob(error)
      }
    }
  }
}
