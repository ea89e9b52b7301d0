import EventLoop
import FerrySettings
import FoundationEssentials

/// Where the two processes find each other, in the data directory.
struct WorkerPlaces: Sendable {
  let lock: String
  let log: String
  /// Rung when there are commands.
  let workerBell: String
  /// Rung when there are news.
  let serviceBell: String
  /// There where a worker died by its own fault.
  let crash: String

  init(_ settings: Settings) {
    lock = settings.dataDirectory + "/worker.lock"
    log = settings.dataDirectory + "/worker.log"
    workerBell = settings.dataDirectory + "/worker.bell"
    serviceBell = settings.dataDirectory + "/service.bell"
    crash = settings.dataDirectory + "/worker.crash"
  }

  var isMarkedByCrash: Bool { FileManager.default.fileExists(atPath: crash) }

  func markCrash() { _ = FileManager.default.createFile(atPath: crash, contents: nil) }

  static func bell(_ path: String) throws -> Doorbell {
    do throws(Doorbell.Failure) {
      return try Doorbell(path: path)
    } catch {
      throw StartError("data-directory", "\(path): \(error)")
    }
  }
}
