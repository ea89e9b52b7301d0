internal import CLinux
internal import EventLoop
internal import Glibc
internal import Synchronization

/// A reader of an open file. Its memory is the kernel's page cache.
final class FileReader: BlobReader {
  private let descriptor: Int32
  /// The offset at which the last fetch failed; -1 after a success. The page cache never contains such bytes, so without this offset the
  /// caller would fetch them forever.
  private let failedOffset = Atomic<Int64>(-1)
  private let window = Mutex(Window())

  /// The bytes of a second fetch at the same offset. Under memory pressure, the page cache may evict fetched bytes before they are read.
  private struct Window {
    /// The offset of the last fetch.
    var offset: Int64 = -1
    var bytes: [UInt8] = []

    /// Reads from the window, and frees its bytes when the last one is read.
    mutating func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int> {
      guard offset >= self.offset, offset < self.offset + Int64(bytes.count) else { return .notCached }
      let found = bytes[Int(offset - self.offset)...].prefix(buffer.count)
      buffer.copyBytes(from: found)
      let count = found.count
      if offset + Int64(count) == self.offset + Int64(bytes.count) { bytes = [] }
      return .bytes(count)
    }
  }

  /// Owns `descriptor` from now on.
  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { Disk.close(descriptor) }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int> {
    guard let start = buffer.baseAddress, offset != failedOffset.load(ordering: .acquiring) else {
      return .failed
    }
    var count = clinux_pread_nowait(descriptor, start, buffer.count, off_t(offset))
    if count < 0, errno == EOPNOTSUPP { count = pread(descriptor, start, buffer.count, off_t(offset)) }
    if count > 0 { return .bytes(count) }
    if count == 0 { return .end }
    guard errno == EAGAIN || errno == EINTR else { return .failed }
    return window.withLock { $0.read(at: offset, into: buffer) }
  }

  func fetch(at offset: Int64, count: Int, _ done: @escaping BlobCompletion<Void>) {
    let result = Result { () throws(BlobError) in try bytes(at: offset, maximum: count) }
    switch result {
    case .success(let bytes):
      failedOffset.store(-1, ordering: .releasing)
      window.withLock { window in
        window = Window(offset: offset, bytes: window.offset == offset ? bytes : [])
      }
    case .failure: failedOffset.store(offset, ordering: .releasing)
    }
    done(result.map { _ in })
  }

  /// Does nothing, because a fetch has completed when its call returns.
  func cancel() {}

  /// Returns at most `maximum` bytes from `offset` on, and none at the end. Waits for the disk.
  func bytes(at offset: Int64, maximum: Int) throws(BlobError) -> [UInt8] {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, initialized in
      repeat {
        count = pread(descriptor, buffer.baseAddress!, maximum, off_t(offset))
      } while count < 0 && errno == EINTR
      initialized = max(0, count)
    }
    guard count >= 0 else { throw .last("read") }
    return bytes
  }
}
