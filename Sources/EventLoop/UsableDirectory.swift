internal import CLinux
internal import Glibc

/// A directory in which this process can list, create and delete files.
package enum UsableDirectory {
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// Creates the directory and its parents if they do not exist, and checks it.
  package static func prepare(_ path: String) throws(Fault) {
    try make(path)
    var information = stat()
    guard stat(path, &information) == 0 else { throw fault(path, "cannot be found", errno) }
    guard information.st_mode & S_IFMT == S_IFDIR else {
      throw Fault(
        description: "\(path) is not a directory; name a directory, or a path at which Ferry can create one")
    }
    guard faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) == 0 else {
      let code = errno
      let ids = "it belongs to user \(information.st_uid), and this process runs as user \(geteuid())"
      throw fault(path, "cannot be written", code, code == EACCES ? "; \(ids)" : "; check how it is mounted")
    }
  }

  /// Whether this user may search the directory; `true` for a missing directory.
  package static func isSearchable(_ path: String) -> Bool {
    faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES
  }

  private static let hint = "; create it, or name a directory that this user can write to"

  private static func make(_ path: String) throws(Fault) {
    guard Disk.mkdir(path) != 0, errno != EEXIST else { return }
    let code = errno
    guard code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
      throw fault(path, "cannot be created", code, hint)
    }
    try make(String(path[..<slash]))
    if Disk.mkdir(path) != 0, errno != EEXIST { throw fault(path, "cannot be created", errno, hint) }
  }

  private static func fault(_ path: String, _ problem: String, _ code: Int32, _ more: String = "") -> Fault {
    Fault(description: "\(path) \(problem): \(SystemError(code))\(more)")
  }
}

/// An errno value that is described with the system's text.
package struct SystemError: Sendable, CustomStringConvertible {
  private let code: Int32
  package init(_ code: Int32) { self.code = code }
  package var description: String { String(cString: strerror(code)) }
}
