package import EventLoop
internal import Synchronization

/// A reader for a user that cannot wait for a fetch: bytes that are not in memory are fetched on a thread of a pool, one fetch at a time, and
/// the user is called back.
package final class PrefetchingReader: Sendable {
  private struct State {
    var isFetching = false
    var isClosed = false
  }
  /// Bytes per fetch.
  private static let fetched: Int64 = 1 << 20

  private let reader: any BlobReader
  private let pool: WorkerPool
  private let state = Mutex(State())

  package init(_ reader: any BlobReader, on pool: WorkerPool) {
    self.reader = reader
    self.pool = pool
  }

  /// Fills the buffer from `offset` on, as far as the bytes are in memory.
  /// - Parameters:
  ///   - end: no bytes are fetched from here on.
  ///   - ready: called from any thread, if the result is `notCached`, when it is time to read again.
  package func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, upTo end: Int64,
    _ ready: (@Sendable () -> Void)?
  ) -> BlobRead<Int> {
    guard !state.withLock({ $0.isFetching }) else { return .notCached }
    let outcome = reader.read(at: offset, into: buffer)
    if outcome == .notCached { fetch(at: offset, upTo: end, ready) }
    return outcome
  }

  /// At most `maximum` bytes from `offset` on.
  package func read(
    at offset: Int64, maximum: Int, upTo end: Int64, _ ready: (@Sendable () -> Void)?
  ) -> BlobRead<[UInt8]> {
    guard !state.withLock({ $0.isFetching }) else { return .notCached }
    let outcome = reader.read(at: offset, maximum: maximum)
    if outcome == .notCached { fetch(at: offset, upTo: end, ready) }
    return outcome
  }

  /// Cancels the fetch in flight; no fetch starts afterwards.
  package func close() {
    state.withLock { $0.isClosed = true }
    reader.cancel()
  }

  private func fetch(at offset: Int64, upTo end: Int64, _ ready: (@Sendable () -> Void)?) {
    let mayFetch = state.withLock { state in
      if !state.isClosed { state.isFetching = true }
      return !state.isClosed
    }
    guard mayFetch else { return }
    pool.submit { [self] in
      guard !state.withLock({ $0.isClosed }) else { return }
      reader.fetch(at: offset, count: Int(min(end - offset, Self.fetched))) { [self] _ in
        state.withLock { $0.isFetching = false }
        ready?()
      }
      // `close` may have come before the fetch was in flight.
      if state.withLock({ $0.isClosed && $0.isFetching }) { reader.cancel() }
    }
  }
}
