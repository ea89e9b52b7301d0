internal import BlobStore
internal import EventLoop
internal import Synchronization

/// Digests a stored file on the pool's threads.
final class FileDigester: Sendable {
  private let scan: BlobScan

  /// - Parameter done: Called with the digest, or with `nil` if the file cannot be read to its end or `stop()` was called.
  init(
    _ reader: any BlobReader, _ range: Range<Int64>, _ algorithm: DigestAuthentication.Algorithm,
    on pool: ThreadPool,
    _ done: @escaping @Sendable (String?) -> Void
  ) {
    let hash = Hash(algorithm)
    scan = BlobScan(reader, range, on: pool) { bytes in
      hash.hasher.withLock { $0.update(bytes) }
    } done: { ended in
      guard case .success(range.upperBound) = ended else { return done(nil) }
      done(hash.hasher.withLock { $0.finalize() })
    }
  }

  func start() { scan.start() }
  func stop() { scan.cancel() }
}

private final class Hash: Sendable {
  let hasher: Mutex<DigestAuthentication.Hasher>
  init(_ algorithm: DigestAuthentication.Algorithm) {
    hasher = Mutex(DigestAuthentication.Hasher(algorithm))
  }
}
