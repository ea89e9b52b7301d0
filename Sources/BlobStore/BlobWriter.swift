internal import Crypto
package import EventLoop
internal import Synchronization
package import TransferModel

/// A blob on its way to its store: digested and written off the loop, chunk by chunk, both while a chunk is in the processor's cache.
///
/// `append` never blocks; it tells how much waits, so that the transfer can be paused. Order is kept by having at most one job of it in
/// the pool.
package final class BlobWriter: Sendable {
  /// What became of it.
  package typealias Finished = Result<(size: Int64, sha256: String), BlobError>

  private struct State {
    /// Chunks that are yet to be written, and their bytes.
    var chunks = SerialDrain<[UInt8]>()
    var waiting = 0
    var hasDigestedStart = false
    var written: Int64 = 0
    var digest = SHA256()
    /// In hexadecimal, of what was not written here.
    var knownDigest: String?
    var failure: BlobError?
    var isDiscarded = false
    var isFinished = false
    /// Discarded, but what waits is still written.
    var writesOn = false
    /// The draft is deleted, or was committed before that.
    var isDeleted = false
    var whenDeleted: (@Sendable () -> Void)?
    var finish: (key: BlobKey, done: @Sendable (Finished) -> Void)?
    var whenWritten: (@Sendable (BlobError?) -> Void)?
    var whenDrained: (@Sendable () -> Void)?
    var draft: (any BlobDraft)?
    var observers: [@Sendable () -> Void] = []
    /// Room of chunks that were written, to be filled again: memory that is new is cleared by the kernel, page by page.
    var spare: [[UInt8]] = []
  }

  /// Bytes that may wait before the transfer is paused, and to which they must fall before it goes on.
  package static let highWater = 4 * 1024 * 1024
  package static let lowWater = 1024 * 1024
  /// Bytes of a chunk where many come.
  package static let chunkSize = 256 * 1024
  private static let spareChunks = highWater / chunkSize

  private let store: any BlobStore
  private let key: BlobKey
  private let pool: WorkerPool
  /// Bytes that were in the draft before.
  private let start: Int64
  private let state = Mutex(State())

  /// - Parameters:
  ///   - key: of the draft, which is begun with the first byte.
  ///   - pool: threads that may wait for the store.
  package init(_ key: BlobKey, in store: any BlobStore, on pool: WorkerPool) {
    self.key = key
    self.store = store
    self.pool = pool
    start = 0
  }

  /// Goes on behind the first `offset` bytes of a draft: they are read again for the digest.
  package init(resuming key: BlobKey, at offset: Int64, in store: any BlobStore, on pool: WorkerPool) {
    self.key = key
    self.store = store
    self.pool = pool
    start = offset
    state.withLock { state in
      state.written = offset
      _ = state.chunks.claim()
    }
    pool.submit { self.work() }
  }

  /// A whole file that nothing is added to.
  package init(
    adopting file: LocalFile, as key: BlobKey, size: Int64, sha256: String, in store: any BlobStore,
    on pool: WorkerPool
  ) throws(BlobError) {
    self.key = key
    self.store = store
    self.pool = pool
    start = 0
    let draft = try store.adopt(file, as: key, size: size)
    state.withLock { state in
      (state.draft, state.written, state.knownDigest) = (draft, size, sha256)
    }
  }

  /// Bytes that readers may have by now, and whether those are all that were appended.
  package var readable: (count: Int64, isAll: Bool) { state.withLock { ($0.written, $0.waiting == 0) } }

  /// Reads along; nil where that cannot be.
  package func reader() -> BlobReader? { state.withLock { $0.draft }?.reader() }

  /// Calls `observer` after each write and at the end.
  package func observe(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(observer) }
  }

  /// An empty array with room for a chunk: what was written before, where there is such.
  package func room() -> [UInt8] {
    if let spare = state.withLock({ $0.spare.popLast() }) { return spare }
    var chunk: [UInt8] = []
    chunk.reserveCapacity(Self.chunkSize)
    return chunk
  }

  /// Takes bytes; returns how many now wait.
  package func append(_ bytes: [UInt8]) -> Int {
    let (mustWork, waiting) = state.withLock { state in
      state.waiting += bytes.count
      return (state.chunks.enqueue(bytes), state.waiting)
    }
    if mustWork { pool.submit { self.work() } }
    return waiting
  }

  /// Calls `action` once, when few enough bytes wait; at once where that is so already.
  package func whenDrained(_ action: @escaping @Sendable () -> Void) {
    let isDrained = state.withLock { state in
      guard state.waiting > Self.lowWater, state.failure == nil else { return true }
      state.whenDrained = action
      return false
    }
    if isDrained { action() }
  }

  /// Calls `done` from a pool thread after all appended bytes have been written, or with the error of a failed write. A second call
  /// replaces a `done` that is still waiting.
  package func whenWritten(_ done: @escaping @Sendable (BlobError?) -> Void) {
    state.withLock { $0.whenWritten = done }
    pool.submit { self.settle() }
  }

  /// Commits it under `key`; calls `done` from a thread of the pool.
  package func finish(as key: BlobKey, _ done: @escaping @Sendable (Finished) -> Void) {
    state.withLock { $0.finish = (key, done) }
    pool.submit { self.settle() }
  }

  /// True where a pause for its sake may end.
  package var isDrained: Bool { state.withLock { $0.waiting <= Self.lowWater || $0.failure != nil } }

  /// Deletes the draft.
  /// - Parameters:
  ///   - keepsForReaders: those who read along still get all that was appended.
  ///   - done: called once, from a thread of the pool, when the key is free.
  package func discard(keepsForReaders: Bool = false, _ done: @escaping @Sendable () -> Void = {}) {
    state.withLock { state in
      state.whenDeleted = done
      state.isDiscarded = true
      state.whenDrained = nil
      state.writesOn = keepsForReaders
      if !keepsForReaders { (state.chunks.elements, state.waiting) = ([], 0) }
    }
    pool.submit { self.settle() }
  }

  // MARK: On the pool's threads

  private func work() {
    if start > 0 { digestStart() }
    while true {
      // The digest is out of the state while it works: nobody else looks at it until this job is over.
      var (batch, digest) = state.withLock { state in
        (state.chunks.take(), state.digest)
      }
      if batch.isEmpty { break }
      for index in batch.indices {
        var chunk: [UInt8] = []
        swap(&chunk, &batch[index])
        take(&chunk, &digest)
      }
      let digested = digest
      state.withLock { $0.digest = digested }
    }
    settle()
  }

  private func take(_ chunk: inout [UInt8], _ digest: inout SHA256) {
    let (draft, offset, isUsable, isDiscarded) = state.withLock { state in
      let isWanted = !state.isDiscarded || state.writesOn
      return (state.draft, state.written, state.failure == nil && isWanted, state.isDiscarded)
    }
    if isUsable, !isDiscarded { digest.update(data: chunk) }
    let result = isUsable ? write(chunk, draft, offset) : .success(draft)
    let count = chunk.count
    chunk.removeAll(keepingCapacity: true)
    let isSpare = chunk.capacity >= Self.chunkSize
    let (drained, observers) = state.withLock { state in
      if isSpare, state.spare.count < Self.spareChunks { state.spare.append(chunk) }
      state.waiting = max(0, state.waiting - count)
      switch result {
      case .success(let draft):
        state.draft = draft
        if isUsable { state.written += Int64(count) }
      case .failure(let failure): (state.failure, state.draft) = (failure, nil)
      }
      return (Self.takeDrained(&state), state.observers)
    }
    drained?()
    for observer in observers { observer() }
  }

  private func write(
    _ chunk: [UInt8], _ draft: (any BlobDraft)?, _ offset: Int64
  ) -> Result<(any BlobDraft)?, BlobError> {
    do throws(BlobError) {
      let draft = if let draft { draft } else { try open() }
      try draft.write([chunk], at: offset)
      return .success(draft)
    } catch {
      return .failure(error)
    }
  }

  private func open() throws(BlobError) -> any BlobDraft {
    start > 0 ? try store.reopen(key, at: start) : try store.create(key)
  }

  /// Reads what was in the draft before, once.
  private func digestStart() {
    guard state.withLock({ !$0.hasDigestedStart }) else { return }
    var digest = SHA256()
    do throws(BlobError) {
      let reader = try store.open(key)
      var offset: Int64 = 0
      while offset < start {
        guard let chunk = reader.wait(at: offset, maximum: Int(min(Int64(Self.chunkSize), start - offset)))
        else {
          throw .last("read")
        }
        guard !chunk.isEmpty else {
          throw BlobError(.torn, "read: it ends at \(offset) in place of \(start)")
        }
        digest.update(data: chunk)
        offset += Int64(chunk.count)
      }
    } catch {
      state.withLock { $0.failure = error }
    }
    let digested = digest
    state.withLock { state in
      state.digest = digested
      state.hasDigestedStart = true
    }
  }

  private static func takeDrained(_ state: inout State) -> (@Sendable () -> Void)? {
    guard state.waiting <= lowWater || state.failure != nil else { return nil }
    defer { state.whenDrained = nil }
    return state.whenDrained
  }

  /// Ends it once nothing of it is worked at: committed, or gone.
  private func settle() {
    let written: (done: @Sendable (BlobError?) -> Void, failure: BlobError?)? = state.withLock { state in
      guard !state.chunks.isDraining, let done = state.whenWritten else { return nil }
      state.whenWritten = nil
      return (done, state.failure)
    }
    if let written { written.done(written.failure) }
    enum Ending {
      case none, discard(isFinished: Bool, (@Sendable () -> Void)?), finish(
        BlobKey, @Sendable (Finished) -> Void, State)
    }
    let ending: Ending = state.withLock { state in
      guard !state.chunks.isDraining else { return .none }
      // Once it has its final key, the other may be somebody else's.
      if state.isDiscarded {
        // Once, for the key is somebody else's afterwards.
        guard !state.isDeleted else { return .none }
        state.isDeleted = true
        defer { state.whenDeleted = nil }
        return .discard(isFinished: state.isFinished, state.whenDeleted)
      }
      guard let finish = state.finish else { return .none }
      state.finish = nil
      state.isFinished = true
      return .finish(finish.key, finish.done, state)
    }
    switch ending {
    case .none: return
    case .discard(let isFinished, let done):
      if !isFinished { store.delete(key) }
      done?()
    case .finish(let key, let done, let state): done(complete(key, state))
    }
    for observer in state.withLock({ $0.observers }) { observer() }
  }

  private func complete(_ final: BlobKey, _ state: State) -> Finished {
    do throws(BlobError) {
      if let failure = state.failure { throw failure }
      // An empty one has not begun yet.
      let draft = if let draft = state.draft { draft } else { try open() }
      self.state.withLock { $0.draft = draft }
      var digest = state.digest
      let sha256 = state.knownDigest ?? Hexadecimal.text(Array(digest.finalizeInPlace()))
      try draft.commit(as: final, size: state.written, sha256: sha256)
      return .success((state.written, sha256))
    } catch {
      store.delete(key)
      return .failure(error)
    }
  }
}

extension SHA256 {
  fileprivate mutating func finalizeInPlace() -> SHA256Digest { finalize() }
}
