internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Limits
package import TransferModel

// Inside `TransferService`, `Limits` names the service's own type.
private let mostInMemory = Limits.smallBodyBytes.value

/// Makes spools, and limits the processing of large bodies to one at a time.
package struct BodySpoolFactory: Sendable {
  let files: Files
  private let turns = AsyncMutex()

  init(files: Files) { self.files = files }

  /// Makes the spool of a request that concerns a session.
  package func make(in session: TransferSession) -> BodySpool {
    let (bodies, runtime) = (files.bodies, files.bodies.runtime)
    let key = BlobKey(.file(bodies.tasks.identifiers.make(FileID.self)), .body, runtime.stamp)
    let isInMemory = session.type == .ephemeral
    return BodySpool(
      key, in: isInMemory ? bodies.blobs(of: session.id) : files.blobs, on: runtime.pool,
      capacity: isInMemory ? runtime.engine.memoryFiles.capacity : nil)
  }

  /// Runs `body`, which may hold the whole spooled body in memory. For a large spool, other callers with large spools wait.
  package func processExclusively<Result>(
    _ spool: BodySpool, _ body: () async throws -> Result
  ) async throws -> Result {
    spool.hasFile ? try await turns.withLock(body) : try await body()
  }
}

/// A request body that is read only after its last byte has arrived. A body larger than `small-body` is written to an encrypted
/// file.
/// The file's key is only in memory, so the file is unreadable after a crash, and the next start deletes it. For an ephemeral
/// session the file is in memory and counts towards `--maximum-ephemeral-bytes`.
package final class BodySpool {
  /// The file, which exists from the first block.
  private struct File {
    let writer: BlobWriter
    let key: [UInt8]
    var blocks = 0
  }

  private let blobs: any BlobStore
  private let pool: ThreadPool
  private let key: BlobKey
  private let capacity: Int64?
  /// The bytes that follow those in the file.
  private var unwritten: [UInt8] = []
  private var file: File?
  private var reader: EncryptedBlob?
  private var blocksRead = 0
  package private(set) var size = 0

  /// - Parameters:
  ///   - key: the key of the file.
  ///   - capacity: the limit of the memory for blobs, in bytes, or `nil` if the blobs are on disk.
  init(_ key: BlobKey, in blobs: any BlobStore, on pool: ThreadPool, capacity: Int64?) {
    self.key = key
    self.blobs = blobs
    self.pool = pool
    self.capacity = capacity
  }

  deinit { file?.writer.discard() }

  private func discardFile() {
    file?.writer.discard()
    (file, reader) = (nil, nil)
  }

  /// Whether the body is larger than `small-body`, so that it has a file.
  var hasFile: Bool { file != nil }

  /// Appends bytes. Waits while too many bytes are unwritten.
  package func append(_ bytes: [UInt8]) async {
    unwritten += bytes
    size += bytes.count
    guard size > mostInMemory else { return }
    var start = 0
    while unwritten.count - start > BlockCipher.blockSize {
      write(unwritten[start..<start + BlockCipher.blockSize])
      start += BlockCipher.blockSize
    }
    unwritten.removeFirst(start)
    guard let writer = file?.writer, !writer.isDrained else { return }
    await withCheckedContinuation { continuation in writer.whenDrained { continuation.resume() } }
  }

  private func write(_ block: ArraySlice<UInt8>) {
    var file = file ?? begin()
    _ = file.writer.append(BlockCipher(key: file.key).seal(block, number: file.blocks))
    file.blocks += 1
    self.file = file
  }

  private func begin() -> File {
    File(writer: BlobWriter(key.part(.draft), in: blobs, on: pool), key: BlockCipher.makeKey())
  }

  /// Returns the next piece of the body, or `nil` at its end. Call it after the last `append`. The last piece deletes the file.
  package func next() async throws(ServiceError) -> [UInt8]? {
    guard let file else {
      defer { unwritten = [] }
      return unwritten.isEmpty ? nil : unwritten
    }
    let reader = try await reader(of: file)
    let offset = Int64(blocksRead * BlockCipher.blockSize)
    let bytes: [UInt8]
    do throws(BlobError) {
      bytes = try await reader.bytes(at: offset, count: BlockCipher.blockSize, on: pool)
    } catch { throw self.error(of: error) }
    guard bytes.count == BlockCipher.blockSize else { throw error(of: BlobError(.incomplete, "read")) }
    blocksRead += 1
    if blocksRead == file.blocks { discardFile() }
    return bytes
  }

  private func reader(of file: File) async throws(ServiceError) -> EncryptedBlob {
    if let reader { return reader }
    let failure = await withCheckedContinuation { continuation in
      file.writer.whenWritten { continuation.resume(returning: $0) }
    }
    if let failure { throw error(of: failure) }
    guard let source = file.writer.reader() else { throw error(of: BlobError(.incomplete, "read")) }
    let size = Int64(file.blocks * BlockCipher.blockSize)
    let opened = EncryptedBlob(source, SpooledBody(size: size, blob: key.stamp, key: file.key))
    reader = opened
    return opened
  }

  private func error(of failure: BlobError) -> ServiceError {
    if let capacity, failure.isFull { return .memoryFull(limit: capacity) }
    return .blob(failure)
  }
}
