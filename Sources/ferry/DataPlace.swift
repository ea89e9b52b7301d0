import FerrySettings
import TransferEngine

/// What a service has in its data directory, by its name there.
enum DataPlace: String, CaseIterable {
  case database = "ferry.db"
  case bodies, files, cache
  case secretKey = "secret-key"
  case webhookSecret = "webhook-secret"
  case workerLock = "worker.lock"
  case workerLog = "worker.log"
  /// Rung when there are commands.
  case workerBell = "worker.bell"
  /// There where a worker died by its own fault.
  case workerCrash = "worker.crash"
}

extension Settings {
  func path(of place: DataPlace) -> String { "\(self.dataDirectory)/\(place.rawValue)" }
}
