internal import Limits
internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferModel

// Inside `TransferService`, `Limits` names the service's own type.
private let mostInline = Limits.inlineBodyBytes.value

/// Stores the large bodies of requests in encrypted files, so that they use no memory while their tasks wait.
struct RequestSpool: Sendable {
  /// The largest body, in bytes, that is stored in its task's row.
  static let inlineBytes = mostInline

  private final class Failure: Sendable {
    let last = Mutex<BlobError?>(nil)
  }

  let runtime: SessionRuntime

  /// Writes the large bodies of new tasks, all or none.
  /// - Parameter tasks: afterwards, their large bodies are references to files.
  /// - Returns: the files. The caller must delete them if the tasks are not created.
  func write(_ tasks: inout [NewTask], in session: TransferSession) async throws(ServiceError) -> [BlobKey] {
    var bodies: [Body] = []
    for index in tasks.indices {
      guard let bytes = tasks[index].specification.request.body?.data, bytes.count > Self.inlineBytes else {
        continue
      }
      let body = SpooledBody(size: Int64(bytes.count), blob: runtime.stamp, key: BlockCipher.makeKey())
      tasks[index].specification.request.body = .spooled(body)
      bodies.append((bytes, body, tasks[index].id))
    }
    return try await write(bodies, of: session)
  }

  /// Writes the body of a delegate's request to a file if the body is large.
  /// - Parameter request: afterwards, a large body is a reference to its file.
  /// - Returns: the file, or `nil` if the body is small.
  func write(
    _ request: inout TransferRequest, of task: TaskID, in session: TransferSession
  ) async throws(ServiceError) -> BlobKey? {
    guard let bytes = request.body?.data, bytes.count > Self.inlineBytes else { return nil }
    // A random attempt number, so that the file's key differs from those of earlier requests.
    let blob = BlobStamp(epoch: runtime.stamp.epoch, attempt: .random(in: 1...Int(Int32.max)))
    let body = SpooledBody(size: Int64(bytes.count), blob: blob, key: BlockCipher.makeKey())
    request.body = .spooled(body)
    return try await write([(bytes, body, task)], of: session).first
  }

  private typealias Body = (bytes: [UInt8], body: SpooledBody, task: TaskID)

  private func write(_ bodies: [Body], of session: TransferSession) async throws(ServiceError) -> [BlobKey] {
    guard !bodies.isEmpty else { return [] }
    let failure = await write(bodies, to: runtime.engine.bodies(of: session.id, session.type))
    let keys = bodies.map { $0.body.blobKey(of: $0.task) }
    guard let failure else { return keys }
    remove(keys, of: session)
    guard session.type == .ephemeral, failure.isFull else { throw .blob(failure) }
    throw .memoryFull(limit: runtime.engine.memoryFiles.capacity)
  }

  /// Encrypts and writes bodies concurrently.
  private func write(_ bodies: [Body], to blobs: any BlobStore) async -> BlobError? {
    let failure = Failure()
    await withCheckedContinuation { continuation in
      let left = CompletionCounter(from: bodies.count) { continuation.resume() }
      for (bytes, body, task) in bodies {
        let key = body.blobKey(of: task)
        // The draft's key does not name the task. Otherwise recovery after a crash would treat the draft as the beginning of a
        // download.
        let draft = BlobKey(.file(FileID(high: task.high, low: task.low)), .draft, body.blob)
        let writer = BlobWriter(draft, in: blobs, on: runtime.pool)
        runtime.pool.submit {
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
    runtime.remover.remove(keys, of: session)
  }

  /// Gives a download the files of the data task from which it was made.
  func shareFiles(in effects: borrowing SessionEffects, of session: TransferSession) {
    guard !effects.engineCommands.isEmpty, !effects.created.isEmpty else { return }
    let blobs = runtime.engine.bodies(of: session.id, session.type)
    for case .command(.answer(.becomeDownload(let download), _), let task) in effects.engineCommands {
      let first = effects.created.first { $0.id == download }?.requestBodyKeys ?? []
      let own = runtime.task(task)?.task.replacementBodyKey
      for blob in first.map(\.stamp) + (own.map { [$0.stamp] } ?? []) {
        runtime.pool.submit {
          blobs.alias(BlobKey(task, .request, blob), as: BlobKey(download, .request, blob)) { _ in }
        }
      }
    }
  }

  /// - Returns: the bytes of a task's body, or `nil` if its file does not exist or was changed.
  func read(_ body: SpooledBody, of task: TransferTask) async throws(ServiceError) -> [UInt8]? {
    let type = runtime.session(task.sessionID)?.type ?? .default
    let (blobs, key) = (runtime.engine.bodies(of: task.sessionID, type), body.blobKey(of: task.id))
    do throws(BlobError) {
      let source = try await awaitBlob(on: runtime.pool) { blobs.open(key, $0) }
      let bytes = try await EncryptedBlob(source, body).bytes(at: 0, count: Int(body.size), on: runtime.pool)
      return bytes.count == Int(body.size) ? bytes : nil
    } catch {
      switch error.reason {
      case .notFound, .incomplete: return nil
      default: throw .blob(error)
      }
    }
  }
}
