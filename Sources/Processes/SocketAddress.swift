internal import EventLoop
internal import CLinux
internal import Glibc

/// The address of a socket in a directory that is held open: an address takes 107 bytes, and paths are longer.
final class SocketAddress: Sendable {
  private let directory: Int32
  private let name: String
  private let address: sockaddr_un

  /// Nil, with `errno`, where the directory cannot be opened or the name alone is too long.
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

  /// As other programs write it, while this is there: whatever the directory's path is, this has 107 bytes at most.
  var path: String { "/proc/self/fd/\(directory)/\(name)" }

  /// For datagrams.
  static func socket() -> Int32 {
    Glibc.socket(
      AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
  }

  func bind(_ descriptor: Int32) -> Bool { withAddress { Glibc.bind(descriptor, $0, $1) } == 0 }

  /// - Returns: 0, or `errno`.
  func send(from descriptor: Int32) -> Int32 {
    var byte: UInt8 = 1
    while true {
      let count = withAddress { sendto(descriptor, &byte, 1, clinux_no_signal, $0, $1) }
      if count >= 0 { return 0 }
      if errno != EINTR { return errno }
    }
  }

  /// Nil where no socket has the name.
  var file: FileIdentity? {
    var status = stat()
    guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFSOCK
    else { return nil }
    return FileIdentity(device: status.st_dev, inode: status.st_ino)
  }

  /// Nothing but a socket is removed.
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

/// A stream socket with a name in a directory, on which this process listens. Only the user's own processes connect.
package final class LocalListener: Sendable {
  private let address: SocketAddress
  /// Whoever serves it closes it.
  package let descriptor: Int32

  /// Nil, with `errno`, where it cannot be had. It takes the place of a socket that lies there.
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

  /// Nobody finds it any more.
  package func remove() { address.removeSocket() }
}

/// Names of sockets in a directory, short enough for whoever connects to them.
package final class SocketDirectory: Sendable {
  private let address: SocketAddress

  /// Nil, with `errno`, where the directory cannot be opened.
  package init?(path: String) {
    guard let address = SocketAddress(path: path + "/x") else { return nil }
    self.address = address
  }

  /// The path of a socket there; good as long as this is there.
  package func path(of name: String) -> String { String(address.path.dropLast()) + name }
}
