internal import BlobStore
internal import Crypto
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The destination of a response's bytes: memory while they are few, then a file. Used on the loop's thread.
final class BodySink {
  /// The result of storing a body: its place, and its digest in lower-case hexadecimal.
  typealias Stored = Result<(body: TransferOutcome.Body, sha256: String), TransferError>

  private enum Storage {
    case memory([UInt8])
    case file(BlobWriter, pending: [UInt8])
  }
  private let smallBodyLimit: Int
  /// The expected size of a small body in bytes; 0 if unknown or large.
  private let expectedSize: Int
  /// Reserves memory quota for a body that stays in memory.
  private let reserveSmall: (Int) -> Bool
  private let maximumSize: Int64
  private let makeFile: () -> BlobWriter
  private let live: LiveBody?
  private var storage = Storage.memory([])
  private(set) var size: Int64 = 0
  private(set) var isTooLarge = false
  private(set) var isFull = false
  /// Whether the last chunk became full by itself, as the next probably will.
  private var fillsChunks = false

  /// - Parameter expectedSize: The expected size in bytes; -1 if unknown.
  init(
    smallBodyLimit: Int, maximumSize: Int64, expectedSize: Int64 = -1, live: LiveBody?,
    reserveSmall: @escaping (Int) -> Bool = { _ in true }, makeFile: @escaping () -> BlobWriter
  ) {
    self.reserveSmall = reserveSmall
    // A large body is a file from its first byte: the beginnings of many slow ones would fill the memory.
    let isSmall = expectedSize <= smallBodyLimit
    self.smallBodyLimit = isSmall ? smallBodyLimit : 0
    self.expectedSize = isSmall ? Int(max(expectedSize, 0)) : 0
    self.maximumSize = maximumSize
    self.live = live
    self.makeFile = makeFile
  }

  /// Continues after `offset` bytes that `file` has already.
  init(resuming file: BlobWriter, at offset: Int64, maximumSize: Int64) {
    (smallBodyLimit, expectedSize) = (0, 0)
    reserveSmall = { _ in true }
    self.maximumSize = maximumSize
    live = nil
    makeFile = { file }
    storage = .file(file, pending: [])
    size = offset
  }

  /// Accepts the bytes, even when the sink is full. Returns `false` if the body exceeds its maximum size.
  /// - Parameter drained: Called from any thread when there is room again.
  func append(_ bytes: UnsafeRawBufferPointer, drained: @escaping @Sendable () -> Void) -> Bool {
    guard !isTooLarge, size + Int64(bytes.count) <= maximumSize else {
      isTooLarge = true
      return false
    }
    size += Int64(bytes.count)
    live?.grow(to: size)
    switch storage {
    case .memory(var memory):
      storage = .memory([])  // Leaves one reference, so that the append copies nothing.
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
      if pending.isEmpty, fillsChunks { pending = file.chunkBuffer() }
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
    fillsChunks = true
    flush(drained)
  }

  /// Writes the bytes that a slow transfer has gathered, because readers wait for them and they would fill the memory.
  func flushPartialChunk(_ drained: @escaping @Sendable () -> Void) {
    fillsChunks = false
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

  /// Uses a whole body that is stored already.
  func adopt(_ file: BlobWriter, size: Int64) {
    storage = .file(file, pending: [])
    self.size = size
    live?.continue(in: file)
    live?.grow(to: size)
  }

  /// Checks again whether there is room.
  func drainEnded() {
    guard isFull, case .file(let file, _) = storage else { return }
    isFull = !file.isDrained
  }

  /// Stores the complete body. `done` is called at once for memory, and from a thread of the pool for a file.
  func finish(as key: BlobKey, _ done: @escaping @Sendable (Stored) -> Void) {
    switch storage {
    case .memory(let memory) where !reserveSmall(memory.count):
      done(.failure(TransferError(.quotaExceeded, "there is no space for the body")))
    case .memory(let memory):
      done(.success((.memory(memory), Hexadecimal.text(Array(SHA256.hash(data: memory))))))
    case .file(let file, let pending):
      storage = .file(file, pending: [])
      if !pending.isEmpty { _ = file.append(pending) }
      file.finish(as: key) { finished in
        done(
          finished.map { (.file, $0.sha256) }.mapError { failure in
            guard failure.reason != .overQuota else {
              return TransferError(.quotaExceeded, "there is no space for the body: \(failure.message)")
            }
            return TransferError(
              .cannotWriteToFile, failure.message,
              underlying: failure.underlying)
          })
      }
    }
  }

  /// Stores the received part as a file, even if it is small.
  func keepPartial(as key: BlobKey, _ done: @escaping @Sendable (Stored) -> Void) {
    if case .memory(let memory) = storage { storage = .file(makeFile(), pending: memory) }
    finish(as: key, done)
  }

  /// Whether the body has a draft in its store.
  var isFile: Bool { if case .file = storage { true } else { false } }

  /// - Parameter done: Called when the body's key is free; from a thread of the pool if the body is a file.
  func discard(_ done: @escaping @Sendable () -> Void = {}) {
    defer { storage = .memory([]) }
    guard case .file(let file, let pending) = storage else { return done() }
    // Readers may arrive later, when the response is announced to them. They get the received part.
    let mayHaveReaders = live != nil
    if mayHaveReaders, !pending.isEmpty { _ = file.append(pending) }
    file.discard(keepsForReaders: mayHaveReaders, done)
  }
}
