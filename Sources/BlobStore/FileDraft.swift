internal import CLinux
internal import EventLoop
internal import Glibc
internal import Synchronization
internal import TransferModel

/// A draft that is an open file, in a directory or in memory.
final class FileDraft: BlobDraft {
  enum Destination {
    case directory(DirectoryBlobs)
    case memory(SessionBlobs)
  }
  private enum CommitState {
    /// `committingOrDiscarded`: the draft is discarded if the commit in flight fails.
    case open, committing, committingOrDiscarded, discarded
  }
  /// The number of bytes after which writeback starts, so that the final sync is short.
  private static let writebackStep: Int64 = 16 * 1024 * 1024

  private let key: BlobKey
  private let place: Destination
  private let descriptor: Int32
  /// The checked size of an adopted file.
  private let knownSize: Int64?
  private let commitState = Mutex(CommitState.open)

  /// Owns `descriptor` from now on.
  init(_ key: BlobKey, in place: Destination, _ descriptor: Int32, knownSize: Int64? = nil) {
    self.key = key
    self.place = place
    self.descriptor = descriptor
    self.knownSize = knownSize
  }

  deinit { Disk.close(descriptor) }

  func write(_ bytes: [UInt8], at offset: Int64, _ done: @escaping BlobCompletion<Void>) {
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

  func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobCompletion<Void>) {
    done(Result { () throws(BlobError) in try commit(as: key, size: size) })
  }

  private func commit(as key: BlobKey, size: Int64) throws(BlobError) {
    guard let found = knownSize ?? Disk.size(of: descriptor) else { throw .last("finish") }
    guard found == size else {
      throw BlobError(.incomplete, "finish: the file has \(found) bytes, not \(size)")
    }
    let isDiscarded = commitState.withLock { commitState in
      if commitState == .open { commitState = .committing }
      return commitState == .discarded
    }
    if isDiscarded { throw .cancelled }
    do throws(BlobError) {
      switch place {
      case .directory(let directory): try directory.commit(descriptor, self.key, as: key)
      case .memory(let session): try session.rename(self.key, to: key, "finish")
      }
    } catch {
      let isDiscarded = commitState.withLock { commitState in
        defer { commitState = commitState == .committing ? .open : .discarded }
        return commitState == .committingOrDiscarded
      }
      if isDiscarded { remove() }
      throw error
    }
  }

  /// Discards the draft. A commit in flight continues. Afterwards the draft's key may belong to another draft.
  func discard(_ done: @escaping @Sendable () -> Void) {
    let mustRemove = commitState.withLock { commitState in
      let wasOpen = commitState == .open
      commitState = wasOpen ? .discarded : commitState == .committing ? .committingOrDiscarded : commitState
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
