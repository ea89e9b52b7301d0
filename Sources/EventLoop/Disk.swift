internal import CProcess
internal import CLinux
internal import Glibc

/// System calls that may wait for a disk. No loop makes them: in a debug build one that does traps. What belongs to a loop
/// hands them to a `WorkerPool`.
package enum Disk {
  /// Traps, in a debug build, on the thread of an event loop.
  package static func mayBlock(_ call: StaticString = #function) {
    assert(!isOnLoop, "\(call) on an event loop")
  }
  private static var isOnLoop: Bool { cprocess_is_loop_thread() != 0 }

  /// - Returns: a descriptor that programs started later do not have; -1 with errno.
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
  /// fdatasync(2).
  package static func syncData(_ descriptor: Int32) -> Int32 {
    mayBlock()
    return Glibc.fdatasync(descriptor)
  }

  /// The size of an open file; nil where it cannot be had.
  package static func size(of descriptor: Int32) -> Int64? {
    mayBlock()
    var information = stat()
    return fstat(descriptor, &information) == 0 ? Int64(information.st_size) : nil
  }

  /// The size of a file; nil where there is none.
  package static func size(_ path: String) -> Int64? {
    mayBlock()
    var information = stat()
    return stat(path, &information) == 0 ? Int64(information.st_size) : nil
  }

  /// The names in a directory but for its own and its parent's; none where it cannot be read.
  package static func names(in directory: String) -> [String] {
    var names: [String] = []
    forEachName(in: directory) { name in
      names.append(name)
      return true
    }
    return names
  }

  /// The same, one after the other.
  /// - Parameter body: returns false to stop.
  /// - Returns: 0, or the errno(3) value that ended the listing early.
  @discardableResult
  package static func forEachName(in directory: String, _ body: (String) -> Bool) -> Int32 {
    mayBlock()
    guard let stream = opendir(directory) else { return errno }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else { return errno }
      // Where it lies: a copy of the field would be of 256 bytes, which an entry need not have.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return 0 }
      let name = String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      if name != ".", name != "..", !body(name) { return 0 }
    }
  }

  /// What was made, renamed or removed in a directory reaches the disk.
  package static func sync(_ directory: String) {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    Glibc.close(descriptor)
  }

  /// A rename reaches the disk: the directory that has the name does.
  package static func syncParent(of path: String) {
    guard let slash = path.lastIndex(of: "/") else { return }
    sync(String(path[..<slash]))
  }

  /// As `rename`, but never in the place of another file: EEXIST then. Where the file system cannot tell, it is linked and unlinked.
  package static func renameNew(_ path: String, _ new: String) -> Int32 {
    mayBlock()
    let isRenamed = clinux_rename_new(path, new) == 0
    guard !isRenamed, errno == EINVAL || errno == ENOSYS else { return isRenamed ? 0 : -1 }
    guard link(path, new) == 0 else { return -1 }
    return unlink(path)
  }

  /// Closes a file. The last descriptor of one that has lost its name frees its blocks, which takes a while for a
  /// large one: a loop has that done elsewhere.
  package static func close(_ descriptor: Int32) {
    if isOnLoop { closer.submit { Glibc.close(descriptor) } } else { Glibc.close(descriptor) }
  }
  private static let closer = WorkerPool(name: "ferry-close", threads: 1)
}
