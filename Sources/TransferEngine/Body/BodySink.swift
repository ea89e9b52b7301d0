internal import BlobStore
internal import Crypto
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// Where a response's bytes go: memory while they are few, a file from then on. On the loop's thread.
final class BodySink {
  /// What became of the body: where it is, and its digest in lower-case hexadecimal.
  typealias Stored = Result<(body: TransferOutcome.Body, sha256: String), TransferError>

  private enum Storage {
    case memory([UInt8])
    case file(BlobWriter, pending: [UInt8])
  }
  private let smallBodyLimit: Int
  /// Bytes that a small body is going to have, as far as that was told.
  private let expectedSize: Int
  /// Takes room for a body that stays where it is.
  private let reserveSmall: (Int) -> Bool
  private let maximumSize: Int64
  private let makeFile: () -> BlobWriter
  private let live: LiveBody?
  private var storage = Storage.memory([])
  private(set) var size: Int64 = 0
  private(set) var isTooLarge = false
  private(set) var isFull = false
  /// The last chunk filled up by itself: the next will, too.
  private var isFast = false

  /// - Parameter expectedSize: bytes that are going to come; -1: nobody knows.
  init(
    smallBodyLimit: Int, maximumSize: Int64, expectedSize: Int64 = -1, live: LiveBody?,
    reserveSmall: @escaping (Int) -> Bool = { _ in true }, makeFile: @escaping () -> BlobWriter
  ) {
    self.reserveSmall = reserveSmall
    // A body that is going to be a file is one from the start: many slow ones would fill the memory with their beginnings.
    let isSmall = expectedSize <= smallBodyLimit
    self.smallBodyLimit = isSmall ? smallBodyLimit : 0
    self.expectedSize = isSmall ? Int(max(expectedSize, 0)) : 0
    self.maximumSize = maximumSize
    self.live = live
    self.makeFile = makeFile
  }

  /// Goes on behind `offset` bytes that `file` has already.
  init(resuming file: BlobWriter, at offset: Int64, maximumSize: Int64) {
    (smallBodyLimit, expectedSize) = (0, 0)
    reserveSmall = { _ in true }
    self.maximumSize = maximumSize
    live = nil
    makeFile = { file }
    storage = .file(file, pending: [])
    size = offset
  }

  /// Takes the bytes, also where it is full; false where they are too many for any body.
  /// - Parameter drained: called from any thread when there is room again.
  func append(_ bytes: UnsafeRawBufferPointer, drained: @escaping @Sendable () -> Void) -> Bool {
    guard size + Int64(bytes.count) <= maximumSize else {
      isTooLarge = true
      return false
    }
    size += Int64(bytes.count)
    live?.grow(to: size)
    switch storage {
    case .memory(var memory):
      storage = .memory([])  // leaves one reference, so that the append copies nothing
      if memory.isEmpty, bytes.count < expectedSize { memory.reserveCapacity(expectedSize) }
      memory.append(contentsOf: bytes)
      if memory.count <= smallBodyLimit {
        storage = .memory(memory)
        live?.append(bytes)
      } else {
        let file = makeFile()
        storage = .file(file, pending: memory)
        live?.continue(in: file)
        flushIfLarge(drained)
      }
    case .file(let file, var pending):
      storage = .file(file, pending: [])
      if pending.isEmpty, isFast { pending = file.room() }
      pending.append(contentsOf: bytes)
      storage = .file(file, pending: pending)
      flushIfLarge(drained)
    }
    return true
  }

  private func flushIfLarge(_ drained: @escaping @Sendable () -> Void) {
    guard case .file(_, let pending) = storage, pending.count >= BlobWriter.chunkSize - 16 * 1024 else {
      return
    }
    isFast = true
    flush(drained)
  }

  /// Hands over what a slow transfer has gathered: its readers wait for it, and it would fill the memory.
  func flushSlow(_ drained: @escaping @Sendable () -> Void) {
    isFast = false
    flush(drained)
  }

  private func flush(_ drained: @escaping @Sendable () -> Void) {
    guard case .file(let file, let pending) = storage, !pending.isEmpty else { return }
    storage = .file(file, pending: [])
    if file.append(pending) > BlobWriter.highWater {
      isFull = true
      file.whenDrained(drained)
    }
  }

  /// Takes a whole body that is there already.
  func adopt(_ file: BlobWriter, size: Int64) {
    storage = .file(file, pending: [])
    self.size = size
    live?.continue(in: file)
    live?.grow(to: size)
  }

  /// Looks again whether there is room.
  func drainEnded() {
    guard isFull, case .file(let file, _) = storage else { return }
    isFull = !file.isDrained
  }

  /// The body is whole. `done` is called at once for memory, from a thread of the pool for a file.
  func finish(as key: BlobKey, _ done: @escaping @Sendable (Stored) -> Void) {
    switch storage {
    case .memory(let memory) where !reserveSmall(memory.count):
      done(.failure(TransferError(.quotaExceeded, "there is no room for more bodies")))
    case .memory(let memory):
      done(.success((.memory(memory), Hexadecimal.text(Array(SHA256.hash(data: memory))))))
    case .file(let file, let pending):
      storage = .file(file, pending: [])
      if !pending.isEmpty { _ = file.append(pending) }
      file.finish(as: key) { finished in
        done(
          finished.map { (.file, $0.sha256) }.mapError { failure in
            guard failure.reason != .overQuota else {
              return TransferError(.quotaExceeded, "there is no room for more bodies: \(failure.message)")
            }
            return TransferError(
              .cannotWriteToFile, failure.message,
              underlying: failure.underlying)
          })
      }
    }
  }

  /// What has arrived becomes a file, also where it is small.
  func keepPartial(as key: BlobKey, _ done: @escaping @Sendable (Stored) -> Void) {
    if case .memory(let memory) = storage { storage = .file(makeFile(), pending: memory) }
    finish(as: key, done)
  }

  /// The body has a draft in its store.
  var isFile: Bool { if case .file = storage { true } else { false } }

  /// - Parameter done: called once its key is free; from a thread of the pool if it is a file.
  func discard(_ done: @escaping @Sendable () -> Void = {}) {
    defer { storage = .memory([]) }
    guard case .file(let file, let pending) = storage else { return done() }
    // Readers may come when the answer is told to them, and get what came of it then.
    let mayHaveReaders = live != nil
    if mayHaveReaders, !pending.isEmpty { _ = file.append(pending) }
    file.discard(keepsForReaders: mayHaveReaders, done)
  }
}
