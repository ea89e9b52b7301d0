internal import CLinux
internal import Crypto
package import EventLoop
internal import Glibc
internal import Synchronization

/// A body on its way to the disk: written and digested off the loop, in two lanes that run side by side.
///
/// `append` never blocks; it tells how much waits, so that the transfer can be paused. Order within a lane is kept by
/// having at most one job of it in the pool.
package final class BodyFile: Sendable {
  package struct Failure: Error, Sendable {
    /// The system call that failed, and why.
    package let message: String
    package let errno: Int32

    package var isFull: Bool { errno == ENOSPC || errno == EDQUOT }
    package var isMissing: Bool { errno == ENOENT }
    /// A limit of the service's own was reached.
    package var isOverQuota: Bool { errno == EDQUOT }
  }
  /// What became of the file.
  package typealias Finished = Result<(size: Int64, sha256: String), Failure>

  private struct State {
    var toWrite: [[UInt8]] = []
    var toDigest: [[UInt8]] = []
    var isWriting = false
    var isDigesting = false
    var hasDigestedStart = false
    var waitingToWrite = 0
    var waitingToDigest = 0
    var written: Int64 = 0
    var digest = SHA256()
    /// In hexadecimal, of what was not written here.
    var knownDigest: String?
    var failure: Failure?
    var isDiscarded = false
    var isFinished = false
    /// Discarded, but what waits is still written.
    var writesOn = false
    var finish: (path: String, done: @Sendable (Finished) -> Void)?
    var whenDrained: (@Sendable () -> Void)?
    var descriptor: Int32 = -1
    var observers: [@Sendable () -> Void] = []
  }

  /// Bytes that may wait before the transfer is paused, and to which they must fall before it goes on.
  package static let highWater = 4 * 1024 * 1024
  package static let lowWater = 1024 * 1024
  private static let writebackStep: Int64 = 16 * 1024 * 1024

  private let temporaryPath: String
  private let medium: BodyMedium
  private let pool: WorkerPool
  /// Bytes that were in the file before.
  private let start: Int64
  private let state = Mutex(State())

  package init(temporaryPath: String, medium: BodyMedium = .disk, pool: WorkerPool) {
    self.temporaryPath = temporaryPath
    self.medium = medium
    self.pool = pool
    start = 0
  }

  /// Goes on behind the first `offset` bytes of the file at `temporaryPath`: they are read again for the digest.
  package init(
    resuming temporaryPath: String, at offset: Int64, medium: BodyMedium = .disk, pool: WorkerPool
  ) {
    self.temporaryPath = temporaryPath
    self.medium = medium
    self.pool = pool
    start = offset
    state.withLock { state in
      state.written = offset
      state.isDigesting = true
    }
    pool.submit { self.digest() }
  }

  /// A whole file that nothing is added to. Nil where it cannot be opened, or has another size.
  init?(adopting temporaryPath: String, size: Int64, sha256: String, pool: WorkerPool) {
    self.temporaryPath = temporaryPath
    medium = .disk
    self.pool = pool
    start = 0
    let descriptor = medium.open(temporaryPath, O_RDONLY)
    guard descriptor >= 0 else { return nil }
    guard medium.size(temporaryPath) == size else {
      Disk.close(descriptor)
      return nil
    }
    state.withLock { state in
      (state.descriptor, state.written, state.knownDigest) = (descriptor, size, sha256)
    }
  }

  deinit {
    let descriptor = state.withLock { $0.descriptor }
    if descriptor >= 0 { Disk.close(descriptor) }
  }

  /// Bytes that readers may have by now, and whether those are all that were appended.
  package var readable: (count: Int64, isAll: Bool) {
    state.withLock { ($0.written, $0.waitingToWrite == 0) }
  }

  /// A descriptor of the reader's own on the file; -1 where it cannot be had.
  package func duplicateDescriptor() -> Int32 {
    state.withLock { $0.descriptor >= 0 ? fcntl($0.descriptor, F_DUPFD_CLOEXEC, 0) : -1 }
  }

  /// Calls `observer` after each write and at the end.
  package func observe(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(observer) }
  }

  /// Takes bytes; returns how many now wait.
  package func append(_ bytes: [UInt8]) -> Int {
    let (mustWrite, mustDigest, waiting) = state.withLock { state in
      state.toWrite.append(bytes)
      state.toDigest.append(bytes)
      state.waitingToWrite += bytes.count
      state.waitingToDigest += bytes.count
      defer {
        state.isWriting = true
        state.isDigesting = true
      }
      return (!state.isWriting, !state.isDigesting, max(state.waitingToWrite, state.waitingToDigest))
    }
    if mustWrite { pool.submit { self.write() } }
    if mustDigest { pool.submit { self.digest() } }
    return waiting
  }

  /// Calls `action` once, when few enough bytes wait; at once where that is so already.
  package func whenDrained(_ action: @escaping @Sendable () -> Void) {
    let isDrained = state.withLock { state in
      guard max(state.waitingToWrite, state.waitingToDigest) > Self.lowWater, state.failure == nil else {
        return true
      }
      state.whenDrained = action
      return false
    }
    if isDrained { action() }
  }

  /// Makes the file durable under `path`; calls `done` from a thread of the pool.
  package func finish(as path: String, _ done: @escaping @Sendable (Finished) -> Void) {
    state.withLock { $0.finish = (path, done) }
    pool.submit { self.settle() }
  }

  /// True where a pause for this file's sake may end.
  package var isDrained: Bool {
    state.withLock { max($0.waitingToWrite, $0.waitingToDigest) <= Self.lowWater || $0.failure != nil }
  }

  /// Forgets what was written.
  /// - Parameter keepsForReaders: those who have the file open still get all that was appended.
  package func discard(keepsForReaders: Bool = false) {
    state.withLock { state in
      state.isDiscarded = true
      state.whenDrained = nil
      state.toDigest = []
      state.writesOn = keepsForReaders
      if !keepsForReaders { state.toWrite = [] }
    }
    pool.submit { self.settle() }
  }

  // MARK: On the pool's threads

  private func write() {
    while true {
      let (batch, descriptor, offset, isUsable) = state.withLock { state in
        let batch = state.toWrite
        state.toWrite = []
        if batch.isEmpty { state.isWriting = false }
        let isWanted = !state.isDiscarded || state.writesOn
        return (batch, state.descriptor, state.written, state.failure == nil && isWanted)
      }
      if batch.isEmpty { break }
      let count = batch.reduce(0) { $0 + $1.count }
      let result = isUsable ? store(batch, descriptor, offset) : .success(descriptor)
      let (drained, observers) = state.withLock { state in
        state.waitingToWrite -= count
        switch result {
        case .success(let descriptor):
          state.descriptor = descriptor
          if isUsable { state.written += Int64(count) }
        case .failure(let failure): state.failure = failure
        }
        return (Self.takeDrained(&state), state.observers)
      }
      drained?()
      for observer in observers { observer() }
    }
    settle()
  }

  private func store(_ batch: [[UInt8]], _ descriptor: Int32, _ offset: Int64) -> Result<Int32, Failure> {
    var descriptor = descriptor
    if descriptor < 0 {
      descriptor = create()
      guard descriptor >= 0 else { return .failure(Self.failure("open")) }
    }
    var position = offset
    for chunk in batch {
      guard medium.mayGrow(temporaryPath, by: chunk.count), Self.writeAll(descriptor, chunk, at: position)
      else {
        let failure = Self.failure("write")
        Disk.close(descriptor)
        state.withLock { $0.descriptor = -1 }
        return .failure(failure)
      }
      position += Int64(chunk.count)
    }
    // Starts the disk early, so that the wait at the end is short.
    let (from, to) = (offset / Self.writebackStep, position / Self.writebackStep)
    if to > from {
      clinux_start_writeback(
        descriptor, off_t(from * Self.writebackStep), off_t((to - from) * Self.writebackStep))
    }
    return .success(descriptor)
  }

  private func create() -> Int32 {
    guard start > 0 else { return medium.create(temporaryPath) }
    let descriptor = medium.open(temporaryPath, O_RDWR)
    guard descriptor >= 0 else { return -1 }
    guard Disk.truncate(descriptor, to: start) == 0 else {
      Disk.close(descriptor)
      return -1
    }
    return descriptor
  }

  private static func writeAll(_ descriptor: Int32, _ bytes: [UInt8], at offset: Int64) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = pwrite(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        done += count
      }
      return true
    }
  }

  private func digest() {
    if start > 0 { digestStart() }
    while true {
      // The digest is out of the state while it works: nobody else looks at it until this lane is idle.
      var (batch, digest) = state.withLock { state in
        let batch = state.toDigest
        state.toDigest = []
        if batch.isEmpty { state.isDigesting = false }
        return (batch, state.digest)
      }
      if batch.isEmpty { break }
      for chunk in batch { digest.update(data: chunk) }
      let count = batch.reduce(0) { $0 + $1.count }
      batch = []
      let finished = digest
      let drained = state.withLock { state in
        state.digest = finished
        state.waitingToDigest -= count
        return Self.takeDrained(&state)
      }
      drained?()
    }
    settle()
  }

  /// Reads what was in the file before, once.
  private func digestStart() {
    guard state.withLock({ !$0.hasDigestedStart }) else { return }
    var digest = SHA256()
    let descriptor = medium.open(temporaryPath, O_RDONLY)
    defer { if descriptor >= 0 { Disk.close(descriptor) } }
    var chunk = [UInt8](repeating: 0, count: 256 * 1024)
    var offset: Int64 = 0
    while offset < start {
      let count = pread(descriptor, &chunk, Int(min(Int64(chunk.count), start - offset)), off_t(offset))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let failure = Self.failure("read")
        state.withLock { $0.failure = failure }
        break
      }
      digest.update(data: chunk[..<count])
      offset += Int64(count)
    }
    let digested = digest
    state.withLock { state in
      state.digest = digested
      state.hasDigestedStart = true
    }
  }

  private static func takeDrained(_ state: inout State) -> (@Sendable () -> Void)? {
    guard max(state.waitingToWrite, state.waitingToDigest) <= lowWater || state.failure != nil else {
      return nil
    }
    defer { state.whenDrained = nil }
    return state.whenDrained
  }

  /// Ends the file once both lanes are idle: durable and renamed, or gone.
  private func settle() {
    enum Ending { case none, discard, finish(String, @Sendable (Finished) -> Void, State) }
    let ending: Ending = state.withLock { state in
      guard !state.isWriting, !state.isDigesting else { return .none }
      // Once it has its final name, the other may be somebody else's.
      if state.isDiscarded { return state.isFinished ? .none : .discard }
      guard let finish = state.finish else { return .none }
      state.finish = nil
      state.isFinished = true
      return .finish(finish.path, finish.done, state)
    }
    switch ending {
    case .none: return
    case .discard: medium.remove(temporaryPath)
    case .finish(let path, let done, let state): done(complete(path, state))
    }
    for observer in state.withLock({ $0.observers }) { observer() }
  }

  private func complete(_ path: String, _ state: State) -> Finished {
    if let failure = state.failure {
      medium.remove(temporaryPath)
      return .failure(failure)
    }
    // An empty body has no descriptor yet.
    var descriptor = state.descriptor
    if descriptor < 0 {
      descriptor = create()
      self.state.withLock { $0.descriptor = descriptor }
    }
    guard descriptor >= 0, medium.commit(descriptor, from: temporaryPath, to: path) else {
      let failure = Self.failure("finish")
      medium.remove(temporaryPath)
      return .failure(failure)
    }
    var digest = state.digest
    return .success((state.written, state.knownDigest ?? Hexadecimal.text(digest.finalizeInPlace())))
  }

  private static func failure(_ operation: String) -> Failure {
    Failure(message: "\(operation): \(String(cString: strerror(errno)))", errno: errno)
  }
}

extension SHA256 {
  fileprivate mutating func finalizeInPlace() -> SHA256Digest { finalize() }
}
