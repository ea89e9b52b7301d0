internal import BlobStore
internal import EventLoop
internal import Synchronization

/// Digests a stored file on the pool's threads in jobs of 2 MiB, so that other jobs run in between.
final class FileDigester: Sendable {
  /// Bytes per job, and per read.
  private static let (turn, piece) = (2 << 20, 256 << 10)

  private struct State {
    var hasher: DigestAuthentication.Hasher
    var offset: Int64
    var isStopped = false
  }

  private let reader: BlobReader
  private let end: Int64
  private let pool: WorkerPool
  private let state: Mutex<State>
  /// Called with the digest, or with nil if the file cannot be read to its end or `stop()` was called.
  private let done: @Sendable (String?) -> Void

  init(
    _ reader: BlobReader, _ range: Range<Int64>, _ algorithm: DigestAuthentication.Algorithm,
    on pool: WorkerPool,
    _ done: @escaping @Sendable (String?) -> Void
  ) {
    self.reader = reader
    end = range.upperBound
    self.pool = pool
    self.done = done
    state = Mutex(State(hasher: DigestAuthentication.Hasher(algorithm), offset: range.lowerBound))
  }

  func start() { pool.submit { self.take() } }
  func stop() { state.withLock { $0.isStopped = true } }

  private func take() {
    for _ in 0..<Self.turn / Self.piece {
      let (offset, isStopped) = state.withLock { ($0.offset, $0.isStopped) }
      guard !isStopped else { return done(nil) }
      guard offset < end else { return done(state.withLock { $0.hasher.finalize() }) }
      let count = Int(min(Int64(Self.piece), end - offset))
      guard let bytes = reader.wait(at: offset, maximum: count), !bytes.isEmpty else { return done(nil) }
      state.withLock { state in
        state.hasher.update(bytes)
        state.offset += Int64(bytes.count)
      }
    }
    start()
  }
}
