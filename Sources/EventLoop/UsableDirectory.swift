internal import CLinux
internal import Glibc

/// A directory that this process can list, and make and remove files in.
package enum UsableDirectory {
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// Makes the directory, and those above it, where there is none.
  package static func prepare(_ path: String) throws(Fault) {
    try make(path)
    var information = stat()
    guard stat(path, &information) == 0 else { throw fault(path, "cannot be found", errno) }
    guard information.st_mode & S_IFMT == S_IFDIR else {
      throw Fault(description: "\(path) is not a directory; name one, or a path where one can be made")
    }
    guard faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) == 0 else {
      let code = errno
      let ids = "it belongs to user \(information.st_uid), and this is user \(geteuid())"
      throw fault(path, "cannot be written", code, code == EACCES ? "; \(ids)" : "; see how it is mounted")
    }
  }

  /// Whether this user may look into the directory. One that is missing has nothing to hide.
  package static func isSearchable(_ path: String) -> Bool {
    faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES
  }

  private static let hint = "; make it, or name another that this user can write"

  private static func make(_ path: String) throws(Fault) {
    guard Disk.mkdir(path) != 0, errno != EEXIST else { return }
    let code = errno
    guard code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
      throw fault(path, "cannot be made", code, hint)
    }
    try make(String(path[..<slash]))
    if Disk.mkdir(path) != 0, errno != EEXIST { throw fault(path, "cannot be made", errno, hint) }
  }

  private static func fault(_ path: String, _ problem: String, _ code: Int32, _ more: String = "") -> Fault {
    Fault(description: "\(path) \(problem): \(SystemError(code))\(more)")
  }
}

/// A code of errno, in the system's words.
package struct SystemError: Sendable, CustomStringConvertible {
  private let code: Int32
  package init(_ code: Int32) { self.code = code }
  package var description: String { String(cString: strerror(code)) }
}
