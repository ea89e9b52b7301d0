internal import EventLoop
internal import CLinux
internal import Glibc
package import TransferModel

/// Where files are put that nobody knows of: beside the others, in a directory for each time that some were found. They go for good
/// after a week, and whoever misses them meanwhile can put them back.
package struct SetAside: Sendable {
  package static let name = "set-aside"
  /// Seconds for which they are kept.
  package static let retention: Double = 7 * 86_400

  /// What they were found in.
  private let directory: String

  package init(in directory: String) { self.directory = directory }

  private var path: String { "\(directory)/\(Self.name)" }

  /// Puts a file of the directory there, under its name.
  /// - Parameter time: of the search that found it.
  /// - Returns: where it is now; nil where that cannot be.
  package func put(_ name: String, at time: Timestamp) -> String? {
    let place = "\(path)/\(time)"
    for directory in [path, place] where Disk.mkdir(directory) != 0 && errno != EEXIST { return nil }
    return Disk.rename("\(directory)/\(name)", "\(place)/\(name)") == 0 ? "\(place)/\(name)" : nil
  }

  /// Removes what has been there for as long as it is kept.
  /// - Returns: how many files went.
  package func removeOld(at now: Timestamp) -> Int {
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
