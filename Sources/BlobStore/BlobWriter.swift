internal import Crypto
package import EventLoop
internal import Synchronization
package import TransferModel

/// A writer of a blob. It digests and writes chunk by chunk on a pool, so that each chunk stays in the processor's cache for both.
///
/// `append` never blocks. It returns the number of waiting bytes, so that the transfer can pause. To keep the order, at most one call of
/// the store is in flight. `BlobWriterState` decides which call is next; a thread of the pool makes the calls. If the store completes a
/// call at once, the thread makes the next one in a loop; otherwise another job of the pool continues.
package final class BlobWriter: Sendable {
  /// The result of the blob: its size and digest, or an error.
  package typealias Finished = Result<(size: Int64, sha256: String), BlobError>

  /// The number of waiting bytes that pauses the transfer. The transfer continues below `lowWater`.
  package static let highWater = 4 * 1024 * 1024
  package static let lowWater = 1024 * 1024
  /// The size in bytes of a chunk of a fast transfer.
  package static let chunkSize = 256 * 1024
  static let spareChunks = highWater / chunkSize

  private let store: any BlobStore
  private let key: BlobKey
  private let pool: ThreadPool
  /// The number of bytes that were in the draft before.
  private let start: Int64
  private let state: Mutex<BlobWriterState>
  /// The digest of all bytes up to the write in flight. Only the thread that makes the calls uses it.
  private let digest = Mutex(SHA256())
  /// The digest of an adopted file.
  private let knownDigest: String?

  /// Prepares a new draft.
  /// - Parameters:
  ///   - key: the key of the draft, which is created with the first byte.
  ///   - pool: threads that may wait for the store.
  package init(_ key: BlobKey, in store: any BlobStore, on pool: ThreadPool) {
    self.key = key
    self.store = store
    self.pool = pool
    start = 0
    state = Mutex(BlobWriterState())
    knownDigest = nil
  }

  /// Continues a draft after its first `offset` bytes, and reads them again for the digest.
  package init(resuming key: BlobKey, at offset: Int64, in store: any BlobStore, on pool: ThreadPool) {
    self.key = key
    self.store = store
    self.pool = pool
    start = offset
    state = Mutex(BlobWriterState(behind: offset))
    knownDigest = nil
    changed { _ in }
  }

  /// Prepares the commit of a complete file.
  package init(
    adopting file: LocalFile, as key: BlobKey, size: Int64, sha256: String, in store: any LocalBlobs,
    on pool: ThreadPool
  ) throws(BlobError) {
    self.key = key
    self.store = store
    self.pool = pool
    start = 0
    state = Mutex(BlobWriterState(try store.adopt(file, as: key, size: size), size: size))
    knownDigest = sha256
  }

  /// The number of bytes that readers can read, and whether these are all appended bytes.
  package var readable: (count: Int64, isAll: Bool) { state.withLock { ($0.written, $0.waiting == 0) } }

  /// Returns a reader of the draft; `nil` if that is not possible.
  package func reader() -> (any BlobReader)? {
    state.withLock { $0.failure == nil ? $0.draft : nil }?.reader()
  }

  /// Calls `observer` after each write and at the end.
  package func observe(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.observe(observer) }
  }

  /// Returns an empty array with room for a chunk, from the memory of a written chunk if possible.
  package func chunkBuffer() -> [UInt8] {
    if let spare = state.withLock({ $0.takeSpare() }) { return spare }
    var chunk: [UInt8] = []
    chunk.reserveCapacity(Self.chunkSize)
    return chunk
  }

  /// Appends bytes and returns the number of waiting bytes.
  package func append(_ bytes: [UInt8]) -> Int {
    changed { state in
      state.append(bytes)
      return state.waiting
    }
  }

  /// Calls `action` once, when few enough bytes wait; immediately if that is already true.
  package func whenDrained(_ action: @escaping @Sendable () -> Void) {
    if state.withLock({ $0.notifyWhenDrained(action) }) { action() }
  }

  /// Calls `done` from a pool thread after all appended bytes have been written, or with the error of a failed write. A second call
  /// replaces a `done` that is still waiting.
  package func whenWritten(_ done: @escaping @Sendable (BlobError?) -> Void) {
    changed { $0.notifyWhenWritten(done) }
  }

  /// Commits the blob under `key`. `done` is called once, from a thread of the pool; with `cancelled` if the blob was discarded first.
  package func finish(as key: BlobKey, _ done: @escaping @Sendable (Finished) -> Void) {
    changed { $0.finish(as: key, done) }
  }

  /// Whether a paused transfer may continue.
  package var isDrained: Bool { state.withLock { $0.isDrained } }

  /// Deletes the draft and cancels its write or commit in flight. If the commit completes first, the blob stays.
  /// - Parameters:
  ///   - keepsForReaders: whether open readers still receive all appended bytes.
  ///   - done: called once, from a thread of the pool, when the key is free.
  package func discard(keepsForReaders: Bool = false, _ done: @escaping @Sendable () -> Void = {}) {
    let (cancelled, scan) = changed { state in
      (state.discard(keepsForReaders: keepsForReaders, done), keepsForReaders ? nil : state.scan)
    }
    scan?.cancel()
    guard let cancelled else { return }
    pool.submit { [self] in
      cancelled.discard { [self] in
        if state.withLock({ $0.cancelled() }) { pool.submit { self.work() } }
      }
    }
  }

  private func changed<Result>(_ change: (inout BlobWriterState) -> Result) -> Result {
    let (result, mustWork) = state.withLock { state in (change(&state), state.claim()) }
    if mustWork { pool.submit { self.work() } }
    return result
  }

  // MARK: On the pool's threads

  private func work() {
    // The step must be released before the next one is chosen: only a uniquely referenced chunk keeps its memory.
    while perform(state.withLock { $0.next() }) {}
  }

  /// Performs a step.
  /// - Returns: `false` if there is nothing to do.
  private func perform(_ step: BlobWriterState.NextCall) -> Bool {
    switch step {
    case .wait: return false
    case .digestStart: digestStart()
    case .open where start > 0: store.reopen(key, at: start) { self.opened($0) }
    case .open: store.create(key) { self.opened($0) }
    case .write(let chunk, let draft, let offset, let isDigested):
      if isDigested { digest.withLock { $0.update(data: chunk) } }
      draft.write(chunk, at: offset) { self.ended($0) }
    case .commit(let draft, let final, let size):
      let sha256 = knownDigest ?? Hexadecimal.text(Array(digest.withLock { $0.finalize() }))
      state.withLock { $0.sha256 = sha256 }
      draft.commit(as: final, size: size, sha256: sha256) { self.ended($0) }
    case .delete(let draft?): draft.discard { self.answered(.done) }
    case .delete(nil): store.delete(key) { self.ended($0) }
    case .notify(let action):
      action?()
      for observer in state.withLock({ $0.observers }) { observer() }
    }
    return true
  }

  /// Digests the earlier bytes of a resumed draft.
  private func digestStart() {
    store.open(key) { [self] opened in
      switch opened {
      case .failure(let error): answered(.failed(error))
      case .success(let reader):
        let scan = BlobScan(reader, 0..<start, on: pool) { [self] bytes in
          digest.withLock { $0.update(data: bytes) }
        } done: { [self] end in
          ended(
            end.flatMap { end in
              guard end < start else { return .success(()) }
              return .failure(BlobError(.incomplete, "read: the draft ends at \(end), not at \(start)"))
            })
        }
        let isDiscarded = state.withLock { state in
          state.scan = scan
          return state.isDiscarded
        }
        if isDiscarded { scan.cancel() }
        scan.start()
      }
    }
  }

  private func opened(_ result: Result<any BlobDraft, BlobError>) {
    switch result {
    case .success(let draft): answered(.opened(draft))
    case .failure(let error): answered(.failed(error))
    }
  }

  private func ended(_ result: Result<Void, BlobError>) {
    switch result {
    case .success: answered(.done)
    case .failure(let error): answered(.failed(error))
    }
  }

  private func answered(_ answer: BlobWriterState.Answer) {
    if state.withLock({ $0.answered(answer) }) { pool.submit { self.work() } }
  }
}
