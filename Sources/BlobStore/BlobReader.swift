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

/// Reads a blob without waiting for a disk or a network: bytes that are not in memory are fetched first. For one user at a time.
package protocol BlobReader: AnyObject, Sendable {
  /// Fills the buffer from `offset` on, as far as the bytes are in memory. Never waits; call it from any thread. It returns `failed` at an
  /// offset for which a fetch has failed.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int>
  /// Loads bytes into memory. `read` returns them until they are evicted. The thread rules of `BlobStore` apply.
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

  /// Fetches from a thread of the pool.
  /// - Parameter done: called from any thread when the fetch has completed or failed; `read` then shows which.
  package func prefetch(
    at offset: Int64, count: Int, on pool: WorkerPool, _ done: @escaping @Sendable () -> Void
  ) {
    pool.submit { self.fetch(at: offset, count: count) { _ in done() } }
  }

  /// At most `count` bytes from `offset` on, and fewer only at the end of the blob.
  /// - Parameter done: called from a thread of the pool.
  package func collect(
    at offset: Int64, count: Int, on pool: WorkerPool, _ done: @escaping BlobDone<[UInt8]>
  ) {
    let bytes = Collected(count)
    let scan = BlobScan(self, offset..<offset + Int64(count), on: pool) { piece in
      bytes.all.withLock { $0 += piece }
    } done: { ended in
      done(ended.map { _ in bytes.all.withLock { $0 } })
    }
    scan.start()
  }

  /// The async form of `collect`. Cancelling the current task cancels the fetch.
  package func bytes(at offset: Int64, count: Int, on pool: WorkerPool) async throws(BlobError) -> [UInt8] {
    let collected = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        collect(at: offset, count: count, on: pool) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      cancel()
    }
    return try collected.get()
  }
}

private final class Collected: Sendable {
  /// Bytes that are reserved at once.
  private static let most = 4 << 20
  let all: Mutex<[UInt8]>

  init(_ count: Int) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(count, Self.most))
    all = Mutex(bytes)
  }
}
