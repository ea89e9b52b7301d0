internal import CLinux
internal import EventLoop
internal import Glibc
internal import TransferModel

/// A draft that is an open file: in a directory, or in memory.
final class FileDraft: BlobDraft {
  enum Place {
    case directory(DirectoryBlobs)
    case memory(SessionBlobs)
  }
  /// Bytes after which the disk is started, so that the wait at the end is short.
  private static let writebackStep: Int64 = 16 * 1024 * 1024

  private let key: BlobKey
  private let place: Place
  private let descriptor: Int32
  /// Of a file that was there already, and has been looked at.
  private let knownSize: Int64?

  /// Takes over `descriptor`.
  init(_ key: BlobKey, in place: Place, _ descriptor: Int32, knownSize: Int64? = nil) {
    self.key = key
    self.place = place
    self.descriptor = descriptor
    self.knownSize = knownSize
  }

  deinit { Disk.close(descriptor) }

  func write(_ chunks: [[UInt8]], at offset: Int64) throws(BlobError) {
    var position = offset
    for chunk in chunks {
      if case .memory(let session) = place, !session.grow(key, by: chunk.count) {
        throw BlobError("write", EDQUOT)
      }
      guard writeAll(chunk, at: position) else { throw .last("write") }
      position += Int64(chunk.count)
    }
    let (from, to) = (offset / Self.writebackStep, position / Self.writebackStep)
    guard to > from, case .directory = place else { return }
    clinux_start_writeback(
      descriptor, off_t(from * Self.writebackStep), off_t((to - from) * Self.writebackStep))
  }

  private func writeAll(_ bytes: [UInt8], at offset: Int64) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = pwrite(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        done += count
      }
      return true
    }
  }

  func reader() -> BlobReader? {
    let descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    return descriptor >= 0 ? BlobReader(descriptor: descriptor) : nil
  }

  func commit(as key: BlobKey, size: Int64, sha256: String) throws(BlobError) {
    guard let found = knownSize ?? Disk.size(of: descriptor) else { throw .last("finish") }
    guard found == size else {
      throw BlobError(.torn, "finish: \(found) bytes are there in place of \(size)")
    }
    switch place {
    case .directory(let directory): try directory.commit(descriptor, self.key, as: key)
    case .memory(let session):
      guard session.move(self.key, to: key) else { throw BlobError("finish", ENOENT) }
    }
  }

  func discard() {
    switch place {
    case .directory(let directory): directory.delete(key)
    case .memory(let session): session.delete(key)
    }
  }
}
