import FoundationEssentials
import Glibc
import Processes
import SQLiteLedger

/// What Ferry makes is for its own user alone, wherever it lies.
enum PrivatePlaces {
  private static let names =
    DataPlace.allCases.map(\.rawValue) + [
      DirectoryLock.name, ProcessPlace.folder, DataPlace.database.rawValue + SQLiteLedger.turnSuffix,
    ]

  /// Whatever the umask was that the process was started with. Before any file is made.
  static func begin() { umask(0o077) }

  /// Mends what an earlier version, or somebody else, has left open. What lies in a directory has its mode since it was made.
  static func mend(_ dataDirectory: String) {
    for path in names.map({ dataDirectory + "/" + $0 }) {
      let found = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      guard let mode = found ?? nil, mode & 0o077 != 0 else { continue }
      // What is another's is met by whoever opens it.
      try? FileManager.default.setAttributes([.posixPermissions: mode & 0o700], ofItemAtPath: path)
    }
  }
}
