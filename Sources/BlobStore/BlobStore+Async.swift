package import EventLoop
internal import Synchronization
package import TransferModel

/// Calls a store and returns the result.
/// - Parameter pool: the threads that make the call; `nil` for the current thread, which may then wait for a local disk.
package func awaitBlob<Value: Sendable>(
  on pool: ThreadPool? = nil, to call: @escaping @Sendable (@escaping BlobCompletion<Value>) -> Void
) async throws(BlobError) -> Value {
  let answer = await withCheckedContinuation { continuation in
    let make: @Sendable () -> Void = { call { continuation.resume(returning: $0) } }
    if let pool { pool.submit(make) } else { make() }
  }
  return try answer.get()
}

/// Calls a store and returns the result; `nil` if the blob does not exist (`gone`).
package func blobAnswerIfAny<Value: Sendable>(
  on pool: ThreadPool? = nil, to call: @escaping @Sendable (@escaping BlobCompletion<Value>) -> Void
) async throws(BlobError) -> Value? {
  do throws(BlobError) { return try await awaitBlob(on: pool, to: call) } catch {
    guard error.reason == .notFound else { throw error }
    return nil
  }
}

extension BlobStore {
  /// Deletes blobs and returns when that is done. A blob that cannot be deleted stays for the next search for orphans.
  package func delete(_ keys: [BlobKey], on pool: ThreadPool) async {
    guard !keys.isEmpty else { return }
    await withCheckedContinuation { continuation in
      pool.submit { self.startDeleting(keys) { continuation.resume() } }
    }
  }

  /// Starts to delete blobs. A blob that cannot be deleted stays for the next search for orphans.
  package func startDeleting(_ keys: [BlobKey], _ done: @escaping @Sendable () -> Void = {}) {
    BlobDeletion(keys, in: self, done).run()
  }

  /// Returns the keys of a category that pass a filter, in no order.
  package func keys(
    _ shelf: BlobCategory, on pool: ThreadPool? = nil,
    where isWanted: @escaping @Sendable (BlobKey) -> Bool = { _ in true }
  ) async throws(BlobError) -> [BlobKey] {
    let wanted = Wanted()
    try await awaitBlob(on: pool) { done in
      self.list(shelf, { page in wanted.keys.withLock { $0 += page.filter(isWanted) } }, done)
    }
    return wanted.keys.withLock { $0 }
  }
}

private final class Wanted: Sendable {
  let keys = Mutex<[BlobKey]>([])
}
