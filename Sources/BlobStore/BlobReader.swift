package import EventLoop
internal import Synchronization

/// The result of a read.
package enum BlobRead<Content: Sendable & Equatable>: Sendable, Equatable {
  case bytes(Content)
  /// The bytes are not in memory. Fetch them and read again.
  case notCached
  case end
  case failed
}

/// A reader of a blob that never waits for a disk or a network. Bytes that are not in memory must be fetched first. It has one user, who
/// calls `read` and `fetch` only when no fetch is in flight.
package protocol BlobReader: AnyObject, Sendable {
  /// Fills the buffer from `offset` on with bytes that are in memory. It never waits, and any thread may call it. It returns `failed` at
  /// an offset for which a fetch has failed.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int>
  /// Loads bytes into memory. `read` returns them until they are evicted. After a second fetch at the same offset, `read` always returns
  /// them. The thread rules of `BlobStore` apply.
  /// - Parameter count: the number of bytes; fewer are fetched at the end of the blob.
  func fetch(at offset: Int64, count: Int, _ done: @escaping BlobCompletion<Void>)
  /// Cancels a fetch in flight, which fails with `cancelled` unless it has just completed. Any thread may call this function.
  func cancel()
}

extension BlobReader {
  /// Returns at most `maximum` bytes from `offset` on, if they are in memory.
  package func read(at offset: Int64, maximum: Int) -> BlobRead<[UInt8]> {
    var count = BlobRead<Int>.end
    let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, initialized in
      count = read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
      if case .bytes(let number) = count { initialized = number }
    }
    switch count {
    case .bytes: return .bytes(bytes)
    case .notCached: return .notCached
    case .end: return .end
    case .failed: return .failed
    }
  }

  /// Reads `count` bytes from `offset` on; fewer only at the end of the blob.
  /// - Parameter done: called from a thread of the pool.
  package func collect(
    at offset: Int64, count: Int, on pool: ThreadPool, _ done: @escaping BlobCompletion<[UInt8]>
  ) {
    Collection(self, at: offset, count: count, on: pool).start(done)
  }

  /// Returns `count` bytes from `offset` on; fewer only at the end of the blob. If the current task is cancelled, the call throws
  /// `cancelled`.
  package func bytes(at offset: Int64, count: Int, on pool: ThreadPool) async throws(BlobError) -> [UInt8] {
    let collection = Collection(self, at: offset, count: count, on: pool)
    let collected = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        collection.start { continuation.resume(returning: $0) }
      }
    } onCancel: {
      collection.cancel()
    }
    return try collected.get()
  }
}

/// A scan that collects the bytes in memory.
private final class Collection: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var done: BlobCompletion<[UInt8]>?
  }
  /// The limit of the memory that is reserved in advance, in bytes.
  private static let mostReserved = 4 << 20
  private let state: SharedState
  private let scan: BlobScan

  private final class SharedState: Sendable {
    let value = Mutex(State())
  }

  init(_ reader: any BlobReader, at offset: Int64, count: Int, on pool: ThreadPool) {
    let state = SharedState()
    state.value.withLock { $0.bytes.reserveCapacity(min(count, Self.mostReserved)) }
    self.state = state
    scan = BlobScan(reader, offset..<offset + Int64(count), on: pool) { piece in
      state.value.withLock { $0.bytes += piece }
    } done: { ended in
      let (bytes, done) = state.value.withLock { ($0.bytes, $0.done) }
      done?(ended.map { _ in bytes })
    }
  }

  func start(_ done: @escaping BlobCompletion<[UInt8]>) {
    state.value.withLock { $0.done = done }
    scan.start()
  }

  func cancel() { scan.cancel() }
}
