import Processes
import FerrySettings
import FoundationEssentials

/// The files in the data directory that the service and the worker share.
struct WorkerFiles: Sendable {
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

  var hasCrashMarker: Bool { FileManager.default.fileExists(atPath: crash) }

  func markCrash() { _ = FileManager.default.createFile(atPath: crash, contents: nil) }

  static func wakeupSocket(_ path: String) throws -> WakeupSocket {
    do throws(WakeupSocket.Failure) {
      return try WakeupSocket(path: path)
    } catch {
      throw StartError(\.dataDirectory, "\(path): \(error)")
    }
  }
}
