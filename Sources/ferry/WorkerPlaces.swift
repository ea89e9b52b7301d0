import Processes
import FerrySettings
import FoundationEssentials

/// Where the two processes find each other, in the data directory.
struct WorkerPlaces: Sendable {
  let lock: String
  let log: String
  let workerBell: String
  let crash: String

  init(_ settings: Settings) {
    lock = settings.path(of: .workerLock)
    log = settings.path(of: .workerLog)
    workerBell = settings.path(of: .workerBell)
    crash = settings.path(of: .workerCrash)
  }

  var isMarkedByCrash: Bool { FileManager.default.fileExists(atPath: crash) }

  func markCrash() { _ = FileManager.default.createFile(atPath: crash, contents: nil) }

  static func bell(_ path: String) throws -> Doorbell {
    do throws(Doorbell.Failure) {
      return try Doorbell(path: path)
    } catch {
      throw StartError(\.dataDirectory, "\(path): \(error)")
    }
  }
}
