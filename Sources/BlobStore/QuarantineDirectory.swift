internal import EventLoop
internal import CLinux
internal import Glibc
package import TransferModel

/// The quarantine of a directory: a subdirectory for each search that found unknown files. They expire after a week. Until then an
/// operator can move them back.
package struct QuarantineDirectory: Sendable {
  package static let name = "set-aside"
  /// The retention in seconds.
  package static let retention: Double = 7 * 86_400

  /// The directory in which the files were found.
  private let directory: String

  package init(in directory: String) { self.directory = directory }

  private var path: String { "\(directory)/\(Self.name)" }

  /// Moves a file of the directory into quarantine, under the same name.
  /// - Parameter time: the time of the search.
  /// - Returns: the new path; `nil` on failure.
  package func move(_ name: String, at time: Timestamp) -> String? {
    let place = "\(path)/\(time)"
    for directory in [path, place] where Disk.mkdir(directory) != 0 && errno != EEXIST { return nil }
    return Disk.rename("\(directory)/\(name)", "\(place)/\(name)") == 0 ? "\(place)/\(name)" : nil
  }

  /// Deletes files whose retention has expired.
  /// - Returns: the number of deleted files.
  package func removeExpired(at now: Timestamp) -> Int {
    var count = 0
    for name in Disk.names(in: path) {
      guard let time = Timestamp(name), now.since(time) > Self.retention else { continue }
      for file in Disk.names(in: "\(path)/\(name)") where Disk.unlink("\(path)/\(name)/\(file)") == 0 {
        count += 1
      }
      _ = Disk.rmdir("\(path)/\(name)")
    }
    return count
  }
}
