internal import CLinux
internal import Glibc

/// Which file a path or a descriptor leads to. Two that are the same lead to the same file, or both to none.
package struct FileIdentity: Sendable, Equatable {
  private let device: UInt64
  private let inode: UInt64

  /// As stat(2) tells them.
  package init(device: UInt, inode: UInt) {
    self.device = UInt64(device)
    self.inode = UInt64(inode)
  }

  /// Nil where there is no such file.
  package init?(_ path: String) {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    self.init(device: information.st_dev, inode: information.st_ino)
  }

  /// Nil where that is no descriptor.
  package init?(of descriptor: Int32) {
    var information = stat()
    guard fstat(descriptor, &information) == 0 else { return nil }
    self.init(device: information.st_dev, inode: information.st_ino)
  }
}
