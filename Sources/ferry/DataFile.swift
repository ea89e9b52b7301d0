import FerrySettings
import TransferEngine

/// The names of the files in a data directory.
enum DataFile: String, CaseIterable {
  case database = "ferry.db"
  case bodies, files, cache
  /// The register of temporary files at destinations.
  case destinations
  case secretKey = "secret-key"
  case webhookSecret = "webhook-secret"
  case workerLock = "worker.lock"
  case workerLog = "worker.log"
  /// The wake-up socket for commands to the worker.
  case workerBell = "worker.bell"
  /// A marker that a worker crashed by its own fault.
  case workerCrash = "worker.crash"
}

extension Settings {
  func path(of place: DataFile) -> String { "\(self.dataDirectory)/\(place.rawValue)" }
}
