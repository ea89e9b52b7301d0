import EventLoop
import FerrySettings
import Glibc
import JSON
import TransferAPI

extension ServiceReports {
  /// The facts about a service with these settings.
  /// - Parameter pool: threads that may wait for a disk.
  init(_ settings: Settings, _ pool: ThreadPool) {
    let directory = settings.dataDirectory
    self.init(settings: ServiceReport(settings).json, limits: ServiceReport(nil).json) {
      await pool.run { DiskSpace(of: directory) }
    }
  }
}

extension DiskSpace {
  /// Reads the space of the file system that has a path; `nil` on failure.
  init?(of path: String) {
    var information = statvfs()
    guard unsafe statvfs(path, &information) == 0 else { return nil }
    let unit = Int64(information.f_frsize)
    self.init(
      availableBytes: Int64(information.f_bavail) * unit, totalBytes: Int64(information.f_blocks) * unit)
  }
}
