internal import FoundationEssentials
internal import Glibc
internal import Processes

/// Directories for files of the user.
enum OutputDirectory {
  /// Returns the directory of a file.
  static func of(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes a directory, with its parents.
  /// - Parameter permissions: the mode; `nil` for the user's own default.
  static func make(_ path: String, permissions: Int? = nil) throws(CommandFailure) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true,
        attributes: permissions.map { [.posixPermissions: $0] })
    } catch {
      let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
      let reason = code.map { ProcessHandle.text(ofError: $0) } ?? "\(error)"
      throw CommandFailure(.file, "\(path) cannot be created: \(reason)")
    }
  }
}
