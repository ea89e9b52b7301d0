import FoundationEssentials
import Glibc
import Processes
import SQLiteLedger

/// File permissions: only Ferry's own user may access its files.
enum FilePermissions {
  private static let names =
    DataFile.allCases.map(\.rawValue) + [
      DirectoryLock.name, ProcessRegistration.folder, DataFile.database.rawValue + SQLiteLedger.turnSuffix,
    ]

  /// Sets the umask, whatever it was before. Call this function before any file is created.
  static func begin() { umask(0o077) }

  /// Repairs the modes of existing files. Files in a directory are protected by the directory's mode.
  static func repair(_ dataDirectory: String) {
    for path in names.map({ dataDirectory + "/" + $0 }) {
      let found = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      guard let mode = found ?? nil, mode & 0o077 != 0 else { continue }
      // A failure for another user's file appears when the file is opened.
      try? FileManager.default.setAttributes([.posixPermissions: mode & 0o700], ofItemAtPath: path)
    }
  }
}
