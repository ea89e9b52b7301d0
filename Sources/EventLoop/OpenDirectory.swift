internal import CLinux
internal import Glibc

/// An open directory, in which names are used without following symbolic links. The calls may wait for a disk.
package final class OpenDirectory: Sendable {
  /// An errno(3) value.
  package struct Fault: Error, Sendable, Equatable {
    package let code: Int32
    package init(code: Int32) { self.code = code }
    static var last: Fault { Fault(code: errno) }
  }

  /// The properties of a file that identify it.
  package struct Entry: Sendable {
    package let inode: UInt64
    package let size: Int64
    /// Nanoseconds since 1970.
    package let modifiedAt: Int64
    package let isRegularFile: Bool
    package let linkCount: Int

    init(_ information: stat) {
      inode = UInt64(information.st_ino)
      size = Int64(information.st_size)
      modifiedAt = Int64(information.st_mtim.tv_sec) * 1_000_000_000 + Int64(information.st_mtim.tv_nsec)
      isRegularFile = information.st_mode & S_IFMT == S_IFREG
      linkCount = Int(information.st_nlink)
    }

    /// Reads the properties of an open file.
    package init(of descriptor: Int32) throws(Fault) {
      Disk.mayBlock()
      var information = stat()
      guard fstat(descriptor, &information) == 0 else { throw .last }
      self.init(information)
    }
  }

  private let descriptor: Int32

  /// Owns `descriptor` from now on.
  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { Disk.close(descriptor) }

  /// Opens a directory by a path, which may contain symbolic links.
  package convenience init(_ path: String) throws(Fault) {
    let descriptor = Descriptors.rejectingReserved(Disk.open(path, O_RDONLY | O_DIRECTORY))
    guard descriptor >= 0 else { throw .last }
    self.init(descriptor: descriptor)
  }

  /// Opens a directory below this one. No name of the path may be a symbolic link (ELOOP).
  /// - Parameters:
  ///   - names: the path.
  ///   - mode: the mode of missing directories, which are created; `nil` to create none.
  package func directory(at names: [String], creating mode: UInt32? = nil) throws(Fault) -> OpenDirectory {
    guard !names.isEmpty else { return self }
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    Disk.mayBlock()
    let found = Descriptors.rejectingReserved(
      clinux_open_beneath(descriptor, names.joined(separator: "/"), flags, 0))
    if found >= 0 { return OpenDirectory(descriptor: found) }
    guard errno == ENOENT, let mode else { throw .last }
    let parent = try directory(at: names.dropLast(), creating: mode)
    if mkdirat(parent.descriptor, names[names.count - 1], mode) == 0 {
      // The umask hides the mode from other users.
      fchmodat(parent.descriptor, names[names.count - 1], mode, 0)
      parent.sync()
    } else if errno != EEXIST {
      throw .last
    }
    let made = Descriptors.rejectingReserved(
      clinux_open_beneath(parent.descriptor, names[names.count - 1], flags, 0))
    guard made >= 0 else { throw .last }
    return OpenDirectory(descriptor: made)
  }

  /// Opens a file of this directory.
  package func open(_ name: String, _ flags: Int32, mode: UInt32 = 0o600) throws(Fault) -> Int32 {
    Disk.mayBlock()
    let found = Descriptors.rejectingReserved(
      clinux_open_beneath(descriptor, name, flags | O_CLOEXEC | O_NONBLOCK, mode))
    guard found >= 0 else { throw .last }
    return found
  }

  /// Returns the properties of a name, without following a symbolic link; `nil` if there is no such name.
  package func entry(_ name: String) throws(Fault) -> Entry? {
    Disk.mayBlock()
    var information = stat()
    guard fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
      guard errno == ENOENT else { throw .last }
      return nil
    }
    return Entry(information)
  }

  /// Whether this process may create names in the directory.
  package var isWritable: Bool {
    Disk.mayBlock()
    return faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0
  }

  /// Gives a file a name in this directory as well.
  package func link(_ path: String, as name: String) throws(Fault) {
    Disk.mayBlock()
    guard linkat(AT_FDCWD, path, descriptor, name, 0) == 0 else { throw .last }
  }

  /// Renames a file of this directory.
  /// - Parameter mayReplace: whether it may replace another file; otherwise the call fails with EEXIST.
  package func rename(_ name: String, to new: String, mayReplace: Bool) throws(Fault) {
    Disk.mayBlock()
    guard !mayReplace else {
      guard renameat(descriptor, name, descriptor, new) == 0 else { throw .last }
      return
    }
    if clinux_rename_new(descriptor, name, new) == 0 { return }
    guard errno == EINVAL || errno == ENOSYS else { throw .last }
    // The file system does not support the flag.
    guard linkat(descriptor, name, descriptor, new, 0) == 0 else { throw .last }
    unlinkat(descriptor, name, 0)
  }

  /// Deletes a name. A missing name is no error.
  package func unlink(_ name: String) throws(Fault) {
    Disk.mayBlock()
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw .last }
  }

  /// Syncs the names of the directory to disk.
  package func sync() {
    Disk.mayBlock()
    fsync(descriptor)
  }

  // MARK: Open files

  package static func write(_ bytes: [UInt8], to file: Int32) throws(Fault) {
    Disk.mayBlock()
    guard DescriptorTransfer.writeAll(bytes, to: file) else { throw .last }
  }

  /// Copies bytes of one file to the same place of another. The kernel shares the bytes if the file system can.
  /// - Returns: the number of copied bytes; 0 at the end.
  package static func copy(_ source: Int32, to target: Int32, at offset: Int64, count: Int) throws(Fault)
    -> Int
  {
    Disk.mayBlock()
    while true {
      let copied = clinux_copy_range(source, off_t(offset), target, off_t(offset), count)
      if copied >= 0 { return copied }
      switch errno {
      case EINTR: continue
      case EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM: return try copyByHand(source, target, offset, count)
      default: throw .last
      }
    }
  }

  private static func copyByHand(
    _ source: Int32, _ target: Int32, _ offset: Int64, _ count: Int
  ) throws(Fault) -> Int {
    var bytes = [UInt8](repeating: 0, count: min(count, 1 << 20))
    var found = 0
    repeat {
      found = bytes.withUnsafeMutableBytes { pread(source, $0.baseAddress!, $0.count, off_t(offset)) }
    } while found < 0 && errno == EINTR
    guard found >= 0 else { throw .last }
    var done = 0
    while done < found {
      let count = bytes.withUnsafeBytes {
        pwrite(target, $0.baseAddress! + done, found - done, off_t(offset) + done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .last }
      done += count
    }
    return found
  }

  /// Sets the mode of an open file, and writes the file to disk.
  package static func complete(_ file: Int32, mode: UInt32) throws(Fault) {
    Disk.mayBlock()
    guard fchmod(file, mode) == 0, fsync(file) == 0 else { throw .last }
  }
}
