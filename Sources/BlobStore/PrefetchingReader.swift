package import EventLoop
internal import Synchronization

/// A reader for a user that cannot wait for a fetch. A thread of a pool fetches bytes that are not in memory, one fetch at a time, and
/// then calls the user back.
package final class PrefetchingReader: Sendable {
  private struct State {
    var isFetching = false
    var isClosed = false
    /// The callback that runs when the fetch in flight completes.
    var ready: (@Sendable () -> Void)?
  }
  /// The number of bytes per fetch.
  private static let fetched: Int64 = 1 << 20

  private let reader: any BlobReader
  private let pool: ThreadPool
  private let state = Mutex(State())

  package init(_ reader: any BlobReader, on pool: ThreadPool) {
    self.reader = reader
    self.pool = pool
  }

  /// Fills the buffer from `offset` on with bytes that are in memory; `failed` after `close`.
  /// - Parameters:
  ///   - end: the offset at which fetches end.
  ///   - ready: called from any thread after a result of `notCached`, when the caller should read again. It replaces an earlier callback.
  package func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, upTo end: Int64,
    _ ready: (@Sendable () -> Void)?
  ) -> BlobRead<Int> {
    if let pending = pending(ready) { return pending ? .notCached : .failed }
    let outcome = reader.read(at: offset, into: buffer)
    if outcome == .notCached { fetch(at: offset, upTo: end, ready) }
    return outcome
  }

  /// Returns at most `maximum` bytes from `offset` on.
  package func read(
    at offset: Int64, maximum: Int, upTo end: Int64, _ ready: (@Sendable () -> Void)?
  ) -> BlobRead<[UInt8]> {
    if let pending = pending(ready) { return pending ? .notCached : .failed }
    let outcome = reader.read(at: offset, maximum: maximum)
    if outcome == .notCached { fetch(at: offset, upTo: end, ready) }
    return outcome
  }

  /// Cancels the fetch in flight and discards its callback. No fetch starts afterwards.
  package func close() {
    state.withLock { state in (state.isClosed, state.ready) = (true, nil) }
    reader.cancel()
  }

  /// Whether a fetch is in flight; `nil` if the reader can be read. A closed reader returns `false`.
  private func pending(_ ready: (@Sendable () -> Void)?) -> Bool? {
    state.withLock { state in
      guard !state.isClosed else { return false }
      guard state.isFetching else { return nil }
      state.ready = ready ?? state.ready
      return true
    }
  }

  private func fetch(at offset: Int64, upTo end: Int64, _ ready: (@Sendable () -> Void)?) {
    state.withLock { state in (state.isFetching, state.ready) = (true, ready) }
    pool.submit { [self] in
      guard !state.withLock({ $0.isClosed }) else { return }
      reader.fetch(at: offset, count: Int(min(end - offset, Self.fetched))) { [self] _ in
        let ready = state.withLock { state in
          defer { (state.isFetching, state.ready) = (false, nil) }
          return state.ready
        }
        ready?()
      }
      // `close` may have run before the fetch was in flight.
      if state.withLock({ $0.isClosed && $0.isFetching }) { reader.cancel() }
    }
  }
}
