package import EventLoop
internal import Synchronization

/// A sequential read of a part of a blob, on the threads of a pool. Pieces in memory are read in a loop; other pieces are fetched first.
/// Other jobs of the pool run in between.
package final class BlobScan: Sendable {
  /// The bytes per job, per read and per fetch.
  private static let (turn, piece, fetched) = (2 << 20, 256 << 10, 1 << 20)

  private struct State {
    var offset: Int64
    var isCancelled = false
    /// Whether `fetch` has returned and its result is pending.
    var isWaiting = false
    var answer: Result<Void, BlobError>?
  }

  private let reader: any BlobReader
  private let end: Int64
  private let pool: ThreadPool
  private let take: @Sendable ([UInt8]) -> Void
  private let done: BlobCompletion<Int64>
  private let state: Mutex<State>

  /// Prepares a scan.
  /// - Parameters:
  ///   - take: receives the pieces in order, one at a time.
  ///   - done: called once, with the offset at which the scan ended: the end of the range, or of the blob.
  package init(
    _ reader: any BlobReader, _ range: Range<Int64>, on pool: ThreadPool,
    take: @escaping @Sendable ([UInt8]) -> Void, done: @escaping BlobCompletion<Int64>
  ) {
    self.reader = reader
    end = range.upperBound
    self.pool = pool
    self.take = take
    self.done = done
    state = Mutex(State(offset: range.lowerBound))
  }

  package func start() { pool.submit { self.run() } }

  /// Ends the scan with `cancelled`, unless it has just completed. Any thread may call this function.
  package func cancel() {
    state.withLock { $0.isCancelled = true }
    reader.cancel()
  }

  private func run() {
    for _ in 0..<Self.turn / Self.piece {
      let (offset, isCancelled) = state.withLock { ($0.offset, $0.isCancelled) }
      guard !isCancelled else { return done(.failure(.cancelled)) }
      guard offset < end else { return done(.success(offset)) }
      var outcome = read(at: offset)
      // After a failed read, the fetch returns the reason.
      if outcome == .notCached || outcome == .failed {
        guard let fetched = fetch(at: offset) else { return }
        if case .failure(let error) = fetched { return done(.failure(error)) }
        outcome = read(at: offset)
      }
      switch outcome {
      case .bytes(let bytes):
        take(bytes)
        state.withLock { $0.offset += Int64(bytes.count) }
      case .notCached: break
      case .end: return done(.success(offset))
      case .failed: return done(.failure(BlobError(.refused, "read: the bytes cannot be read")))
      }
    }
    start()
  }

  private func read(at offset: Int64) -> BlobRead<[UInt8]> {
    reader.read(at: offset, maximum: Int(min(Int64(Self.piece), end - offset)))
  }

  /// Starts a fetch.
  /// - Returns: its result; `nil` if the result comes later.
  private func fetch(at offset: Int64) -> Result<Void, BlobError>? {
    reader.fetch(at: offset, count: Int(min(Int64(Self.fetched), end - offset))) { self.fetched($0) }
    let (answer, isCancelled) = state.withLock { state in
      defer { state.answer = nil }
      state.isWaiting = state.answer == nil
      return (state.answer, state.isCancelled)
    }
    if isCancelled, answer == nil { reader.cancel() }
    return answer
  }

  private func fetched(_ answer: Result<Void, BlobError>) {
    let wasWaiting = state.withLock { state in
      defer { state.isWaiting = false }
      if !state.isWaiting { state.answer = answer }
      return state.isWaiting
    }
    guard wasWaiting else { return }
    if case .failure(let error) = answer { return done(.failure(error)) }
    start()
  }
}
