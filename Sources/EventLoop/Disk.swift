internal import CProcess
internal import CLinux
internal import Glibc

/// System calls that may wait for a disk. An event loop must not call them; it uses a `ThreadPool` instead. A debug build traps if a
/// loop's thread calls one.
package enum Disk {
  /// Traps on the thread of an event loop, in a debug build.
  package static func mayBlock(_ call: StaticString = #function) {
    assert(!isOnLoop, "\(call) on an event loop")
  }
  private static var isOnLoop: Bool { cprocess_is_loop_thread() != 0 }

  /// Opens a file.
  /// - Returns: a descriptor that child processes do not inherit; -1 with errno on failure.
  package static func open(_ path: String, _ flags: Int32) -> Int32 {
    mayBlock()
    return Glibc.open(path, flags | O_CLOEXEC, 0o600)
  }
  package static func unlink(_ path: String) -> Int32 {
    mayBlock()
    return Glibc.unlink(path)
  }
  package static func rename(_ path: String, _ new: String) -> Int32 {
    mayBlock()
    return Glibc.rename(path, new)
  }
  package static func link(_ path: String, _ new: String) -> Int32 {
    mayBlock()
    return Glibc.link(path, new)
  }
  package static func mkdir(_ path: String) -> Int32 {
    mayBlock()
    return Glibc.mkdir(path, 0o700)
  }
  package static func rmdir(_ path: String) -> Int32 {
    mayBlock()
    return Glibc.rmdir(path)
  }
  package static func truncate(_ descriptor: Int32, to size: Int64) -> Int32 {
    mayBlock()
    return Glibc.ftruncate(descriptor, off_t(size))
  }
  /// Calls fdatasync(2).
  package static func syncData(_ descriptor: Int32) -> Int32 {
    mayBlock()
    return Glibc.fdatasync(descriptor)
  }

  /// Returns the size of an open file; `nil` on failure.
  package static func size(of descriptor: Int32) -> Int64? {
    mayBlock()
    var information = stat()
    return fstat(descriptor, &information) == 0 ? Int64(information.st_size) : nil
  }

  /// Returns the size of a file; `nil` if there is no such file.
  package static func size(_ path: String) -> Int64? {
    mayBlock()
    var information = stat()
    return stat(path, &information) == 0 ? Int64(information.st_size) : nil
  }

  /// Returns the names in a directory except `.` and `..`; none if it cannot be read.
  package static func names(in directory: String) -> [String] {
    var names: [String] = []
    forEachName(in: directory) { name in
      names.append(name)
      return true
    }
    return names
  }

  /// Calls `body` for each name in a directory except `.` and `..`.
  /// - Parameter body: returns `false` to stop.
  /// - Returns: 0, or the errno(3) value that ended the listing early.
  @discardableResult
  package static func forEachName(in directory: String, _ body: (String) -> Bool) -> Int32 {
    mayBlock()
    guard let stream = opendir(directory) else { return errno }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else { return errno }
      // Read the name in place: a copy of the field would read 256 bytes, and the entry may be shorter.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return 0 }
      let name = String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      if name != ".", name != "..", !body(name) { return 0 }
    }
  }

  /// Syncs the created, renamed and deleted names of a directory to disk.
  package static func sync(_ directory: String) {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    Glibc.close(descriptor)
  }

  /// Syncs a rename to disk, by syncing the directory of the name.
  package static func syncParent(of path: String) {
    guard let slash = path.lastIndex(of: "/") else { return }
    sync(String(path[..<slash]))
  }

  /// Renames a file but never replaces another (EEXIST). If the file system does not support that, the file is linked and unlinked.
  package static func renameNew(_ path: String, _ new: String) -> Int32 {
    mayBlock()
    let isRenamed = clinux_rename_new(AT_FDCWD, path, new) == 0
    guard !isRenamed, errno == EINVAL || errno == ENOSYS else { return isRenamed ? 0 : -1 }
    guard link(path, new) == 0 else { return -1 }
    return unlink(path)
  }

  /// Closes a file. The last descriptor of a deleted file frees its blocks, which is slow for a large file. On a loop's thread, another
  /// thread closes the file.
  package static func close(_ descriptor: Int32) {
    if isOnLoop { closer.submit { Glibc.close(descriptor) } } else { Glibc.close(descriptor) }
  }
  private static let closer = ThreadPool(name: "ferry-close", threads: 1)
}
