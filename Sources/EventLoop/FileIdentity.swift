internal import CLinux
internal import Glibc

/// The file that a path or a descriptor refers to. Two equal identities refer to the same file.
package struct FileIdentity: Sendable, Equatable {
  private let device: UInt64
  private let inode: UInt64

  /// Makes an identity from the values of stat(2).
  package init(device: UInt, inode: UInt) {
    self.device = UInt64(device)
    self.inode = UInt64(inode)
  }

  /// Finds the file at a path; `nil` if there is none.
  package init?(_ path: String) {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    self.init(device: information.st_dev, inode: information.st_ino)
  }

  /// Finds the file of a descriptor; `nil` if the descriptor is not open.
  package init?(of descriptor: Int32) {
    var information = stat()
    guard fstat(descriptor, &information) == 0 else { return nil }
    self.init(device: information.st_dev, inode: information.st_ino)
  }
}
