package import EventLoop
internal import Synchronization

/// The outcome of an attempt to read.
package enum BlobRead<Content: Sendable & Equatable>: Sendable, Equatable {
  case bytes(Content)
  /// The bytes are not in memory: fetch them and read again.
  case notCached
  case end
  case failed
}

/// Reads a blob without waiting for a disk or a network: bytes that are not in memory are fetched first. It has one user, who calls `read`
/// and `fetch` when no fetch is in flight.
package protocol BlobReader: AnyObject, Sendable {
  /// Fills the buffer from `offset` on, as far as the bytes are in memory. Never waits; call it from any thread. It returns `failed` at an
  /// offset for which a fetch has failed.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int>
  /// Loads bytes into memory. `read` returns them until they are evicted; after a second fetch at the same offset, it returns them
  /// in any case. The thread rules of `BlobStore` apply.
  /// - Parameter count: bytes; fewer are fetched at the end of the blob.
  func fetch(at offset: Int64, count: Int, _ done: @escaping BlobDone<Void>)
  /// Cancels a fetch in flight: it fails with `cancelled` or has completed first. From any thread.
  func cancel()
}

extension BlobReader {
  /// At most `maximum` bytes from `offset` on, where they are in memory.
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

  /// At most `count` bytes from `offset` on, and fewer only at the end of the blob.
  /// - Parameter done: called from a thread of the pool.
  package func collect(
    at offset: Int64, count: Int, on pool: WorkerPool, _ done: @escaping BlobDone<[UInt8]>
  ) {
    Collection(self, at: offset, count: count, on: pool).start(done)
  }

  /// The async form of `collect`. Cancelling the current task ends it with `cancelled`.
  package func bytes(at offset: Int64, count: Int, on pool: WorkerPool) async throws(BlobError) -> [UInt8] {
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

/// A scan whose bytes are collected in memory.
private final class Collection: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var done: BlobDone<[UInt8]>?
  }
  /// Bytes that are reserved at the start.
  private static let mostReserved = 4 << 20
  private let state: SharedState
  private let scan: BlobScan

  private final class SharedState: Sendable {
    let value = Mutex(State())
  }

  init(_ reader: any BlobReader, at offset: Int64, count: Int, on pool: WorkerPool) {
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

  func start(_ done: @escaping BlobDone<[UInt8]>) {
    state.value.withLock { $0.done = done }
    scan.start()
  }

  func cancel() { scan.cancel() }
}
