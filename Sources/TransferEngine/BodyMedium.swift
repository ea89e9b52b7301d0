internal import EventLoop
internal import CLinux
internal import Glibc
package import TransferModel

/// What bodies are kept on: a disk, or memory for those that must leave nothing on one. Files are told apart by their
/// paths on either.
package enum BodyMedium: Sendable {
  case disk
  case memory(MemoryFiles, SessionID)

  /// An empty file; -1 with errno where that cannot be.
  func create(_ path: String) -> Int32 {
    switch self {
    case .disk:
      // A new file, not the old one emptied: that may have other names, under which it is whole.
      if Disk.unlink(path) != 0, errno != ENOENT { return -1 }
      return Descriptors.yielding(Disk.open(path, O_RDWR | O_CREAT | O_EXCL))
    case .memory(let files, let session): return files.create(path, of: session)
    }
  }

  /// A file that is there; -1 with errno where that cannot be.
  func open(_ path: String, _ flags: Int32) -> Int32 {
    switch self {
    case .disk: Disk.open(path, flags)
    case .memory(let files, let session): files.open(path, of: session)
    }
  }

  /// Whether there is room for so many bytes more; sets errno where there is none.
  func mayGrow(_ path: String, by count: Int) -> Bool {
    guard case .memory(let files, let session) = self else { return true }
    guard files.grow(path, of: session, by: Int64(count)) else {
      errno = EDQUOT
      return false
    }
    return true
  }

  /// Gives a written file its final name, for good; false with errno where that cannot be.
  func commit(_ descriptor: Int32, from path: String, to final: String) -> Bool {
    switch self {
    case .disk:
      guard Disk.syncData(descriptor) == 0, Disk.rename(path, final) == 0 else { return false }
      DirectorySync.sync(parentOf: final)
      return true
    case .memory: return rename(path, to: final)
    }
  }

  @discardableResult
  func rename(_ path: String, to new: String) -> Bool {
    switch self {
    case .disk: Disk.rename(path, new) == 0
    case .memory(let files, let session): files.rename(path, to: new, of: session)
    }
  }

  func remove(_ path: String) {
    switch self {
    case .disk: _ = Disk.unlink(path)
    case .memory(let files, let session): files.remove(path, of: session)
    }
  }

  /// nil where there is no such file.
  func size(_ path: String) -> Int64? {
    switch self {
    case .disk: Disk.size(path)
    case .memory(let files, let session): files.size(path, of: session)
    }
  }

  func names(_ directory: String) -> [String] {
    switch self {
    case .disk: Disk.names(in: directory)
    case .memory(let files, let session):
      files.names(of: session).map { String($0.dropFirst(directory.count + 1)) }
    }
  }
}
