internal import EventLoop
internal import CLinux
internal import Glibc

/// The address of a UNIX socket, relative to an open directory. A socket address holds 107 bytes, and paths may be longer.
final class SocketAddress: Sendable {
  private let directory: Int32
  private let name: String
  private let address: sockaddr_un

  /// Opens the directory; `nil`, with `errno`, if that fails or the name alone is too long.
  init?(path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    name = String(parts.last ?? "")
    let parent = parts.dropLast().joined(separator: "/")
    directory = clinux_open_directory_path(parts.count == 1 ? "." : parent + "/")
    guard directory >= 0 else { return nil }
    guard let address = Self.unix("/proc/self/fd/\(directory)/\(name)") else {
      close(directory)
      errno = ENAMETOOLONG
      return nil
    }
    self.address = address
  }

  deinit { if directory >= 0 { close(directory) } }

  /// The socket's path for other programs, valid while this object exists. It has at most 107 bytes, whatever the directory's path is.
  var path: String { "/proc/self/fd/\(directory)/\(name)" }

  /// Returns a new datagram socket.
  static func socket() -> Int32 {
    Glibc.socket(
      AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
  }

  func bind(_ descriptor: Int32) -> Bool { withAddress { Glibc.bind(descriptor, $0, $1) } == 0 }

  /// - Returns: 0 or `errno`.
  func send(from descriptor: Int32) -> Int32 {
    var byte: UInt8 = 1
    while true {
      let count = withAddress { sendto(descriptor, &byte, 1, clinux_no_signal, $0, $1) }
      if count >= 0 { return 0 }
      if errno != EINTR { return errno }
    }
  }

  /// The socket's file; `nil` if there is no socket with the name.
  var file: FileIdentity? {
    var status = stat()
    guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFSOCK
    else { return nil }
    return FileIdentity(device: status.st_dev, inode: status.st_ino)
  }

  /// Removes the file if it is a socket.
  func removeSocket() { if file != nil { unlinkat(directory, name, 0) } }

  private func withAddress<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private static func unix(_ path: String) -> sockaddr_un? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isWhole = withUnsafeMutableBytes(of: &address.sun_path) { buffer in
      guard path.utf8.count < buffer.count else { return false }
      buffer.copyBytes(from: path.utf8)
      return true
    }
    return isWhole ? address : nil
  }
}

/// A listening stream socket with a name in a directory. Only processes of the same user can connect.
package final class UnixListener: Sendable {
  private let address: SocketAddress
  /// The descriptor. The server closes it.
  package let descriptor: Int32

  /// Creates the socket and replaces any other at the path; `nil`, with `errno`, if that fails.
  package init?(path: String) {
    guard let address = SocketAddress(path: path) else { return nil }
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let opened = Glibc.socket(AF_UNIX, type, 0)
    guard opened >= 0 else { return nil }
    address.removeSocket()
    guard fchmod(opened, 0o600) == 0, address.bind(opened), listen(opened, 1024) == 0 else {
      let code = errno
      close(opened)
      errno = code
      return nil
    }
    self.address = address
    descriptor = opened
  }

  /// Removes the socket's file, so that no process can connect.
  package func remove() { address.removeSocket() }
}

/// Short paths for the sockets of a directory, for processes that connect to them.
package final class SocketDirectory: Sendable {
  private let address: SocketAddress

  /// Opens the directory; `nil`, with `errno`, if that fails.
  package init?(path: String) {
    guard let address = SocketAddress(path: path + "/x") else { return nil }
    self.address = address
  }

  /// Returns the path of a socket in the directory, valid while this object exists.
  package func path(of name: String) -> String { String(address.path.dropLast()) + name }
}
