internal import CLinux
internal import EventLoop
internal import Glibc
internal import Synchronization
internal import TransferModel

/// A draft that is an open file: in a directory, or in memory.
final class FileDraft: BlobDraft {
  enum Place {
    case directory(DirectoryBlobs)
    case memory(SessionBlobs)
  }
  private enum Fate {
    /// `committingOrDiscarded`: discarded if the commit in flight fails.
    case open, committing, committingOrDiscarded, discarded
  }
  /// Bytes after which the disk is started, so that the wait at the end is short.
  private static let writebackStep: Int64 = 16 * 1024 * 1024

  private let key: BlobKey
  private let place: Place
  private let descriptor: Int32
  /// Of a file that was there already, and has been looked at.
  private let knownSize: Int64?
  private let fate = Mutex(Fate.open)

  /// Takes over `descriptor`.
  init(_ key: BlobKey, in place: Place, _ descriptor: Int32, knownSize: Int64? = nil) {
    self.key = key
    self.place = place
    self.descriptor = descriptor
    self.knownSize = knownSize
  }

  deinit { Disk.close(descriptor) }

  func write(_ bytes: [UInt8], at offset: Int64, _ done: @escaping BlobDone<Void>) {
    done(Result { () throws(BlobError) in try write(bytes, at: offset) })
  }

  func write(_ bytes: [UInt8], at offset: Int64) throws(BlobError) {
    if case .memory(let session) = place, !session.grow(key, by: bytes.count) {
      throw BlobError("write", EDQUOT)
    }
    guard writeAll(bytes, at: offset) else { throw .last("write") }
    let (from, to) = (offset / Self.writebackStep, (offset + Int64(bytes.count)) / Self.writebackStep)
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

  func reader() -> (any BlobReader)? {
    let descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    return descriptor >= 0 ? FileReader(descriptor: descriptor) : nil
  }

  func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobDone<Void>) {
    done(Result { () throws(BlobError) in try commit(as: key, size: size) })
  }

  private func commit(as key: BlobKey, size: Int64) throws(BlobError) {
    guard let found = knownSize ?? Disk.size(of: descriptor) else { throw .last("finish") }
    guard found == size else {
      throw BlobError(.torn, "finish: \(found) bytes are there in place of \(size)")
    }
    let isDiscarded = fate.withLock { fate in
      if fate == .open { fate = .committing }
      return fate == .discarded
    }
    if isDiscarded { throw .cancelled }
    do throws(BlobError) {
      switch place {
      case .directory(let directory): try directory.commit(descriptor, self.key, as: key)
      case .memory(let session): try session.rename(self.key, to: key, "finish")
      }
    } catch {
      let isDiscarded = fate.withLock { fate in
        defer { fate = fate == .committing ? .open : .discarded }
        return fate == .committingOrDiscarded
      }
      if isDiscarded { remove() }
      throw error
    }
  }

  /// A commit in flight continues. Afterwards the draft's key may belong to another draft.
  func discard(_ done: @escaping @Sendable () -> Void) {
    let mustRemove = fate.withLock { fate in
      let wasOpen = fate == .open
      fate = wasOpen ? .discarded : fate == .committing ? .committingOrDiscarded : fate
      return wasOpen
    }
    if mustRemove { remove() }
    done()
  }

  private func remove() {
    switch place {
    case .directory(let directory): directory.remove(key)
    case .memory(let session): session.remove(key)
    }
  }
}
