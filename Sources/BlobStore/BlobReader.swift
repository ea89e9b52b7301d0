internal import CLinux
package import EventLoop
internal import Glibc
package import TransferModel

/// Reads a blob without ever waiting for the disk: what is not in the page cache is fetched by a pool first. What it is read from is
/// its own affair.
package final class BlobReader: Sendable {
  package enum Outcome<Content: Sendable & Equatable>: Sendable, Equatable {
    case bytes(Content)
    /// Not in memory: `prefetch` it and ask again.
    case notCached
    case end
    case failed
  }
  /// Some of the bytes from an offset on, and none at the end; nil where they cannot be had. At once, and from any thread.
  package typealias Bytes = @Sendable (_ offset: Int64, _ maximum: Int) -> [UInt8]?

  private enum Source {
    case file(Int32)
    case bytes(Bytes)
    case encrypted(EncryptedBlob)
  }
  private let source: Source

  /// Takes over `descriptor`.
  init(descriptor: Int32) { source = .file(descriptor) }

  /// Of what is in memory.
  package init(_ bytes: @escaping Bytes) { source = .bytes(bytes) }

  /// Decrypts the body of a request, which `source` reads as it is stored.
  package init(decrypting source: BlobReader, _ body: SpooledBody) {
    self.source = .encrypted(EncryptedBlob(source, BlockCipher(key: body.key), size: body.size))
  }

  deinit { if case .file(let descriptor) = source { Disk.close(descriptor) } }

  /// At most `maximum` bytes from `offset` on, where they are in memory.
  package func read(at offset: Int64, maximum: Int) -> Outcome<[UInt8]> {
    var count = Outcome<Int>.end
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

  /// Fills the buffer from `offset` on, as far as that is in memory.
  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Outcome<Int> {
    guard let start = buffer.baseAddress else { return .failed }
    if case .encrypted(let blob) = source { return blob.read(at: offset, into: buffer) }
    guard case .file(let descriptor) = source else {
      guard let bytes = wait(at: offset, maximum: buffer.count) else { return .failed }
      buffer.copyBytes(from: bytes)
      return bytes.isEmpty ? .end : .bytes(bytes.count)
    }
    var count = clinux_pread_nowait(descriptor, start, buffer.count, off_t(offset))
    if count < 0, errno == EOPNOTSUPP { count = pread(descriptor, start, buffer.count, off_t(offset)) }
    if count > 0 { return .bytes(count) }
    if count == 0 { return .end }
    return errno == EAGAIN || errno == EINTR ? .notCached : .failed
  }

  /// At most `maximum` bytes from `offset` on, and none at the end; waits for the disk. Nil where they cannot be had.
  package func wait(at offset: Int64, maximum: Int) -> [UInt8]? {
    let descriptor: Int32
    switch source {
    case .bytes(let bytes): return bytes(offset, maximum)
    case .encrypted(let blob): return blob.wait(at: offset, maximum: maximum)
    case .file(let file): descriptor = file
    }
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, initialized in
      repeat {
        count = pread(descriptor, buffer.baseAddress!, maximum, off_t(offset))
      } while count < 0 && errno == EINTR
      initialized = max(0, count)
    }
    return count < 0 ? nil : bytes
  }

  /// Brings `count` bytes from `offset` on into memory; calls `done` from a thread of the pool.
  package func prefetch(
    at offset: Int64, count: Int, on pool: WorkerPool, _ done: @escaping @Sendable () -> Void
  ) {
    pool.submit { [self] in
      if case .encrypted(let blob) = source {
        blob.prefetch(at: offset, count: count)
      } else {
        _ = wait(at: offset, maximum: count)
      }
      done()
    }
  }
}
