internal import Addresses
import BlobStore
import EventLoop
import FerrySettings
import TransferEngine
import TransferModel
import TransferService

/// The engine that follows from the settings.
extension Settings {
  var blobs: DirectoryBlobs { DirectoryBlobs(bodies: path(of: .bodies), files: path(of: .files)) }
  /// `nil` if no directory is opened for destinations.
  var destinations: DirectoryDestinations? {
    guard !self.destinationDirectory.entries.isEmpty else { return nil }
    return DirectoryDestinations(
      self.destinationDirectory, mode: self.destinationMode, register: path(of: .destinations))
  }
  /// Checks that the directories of destinations can be used.
  func checkDestinations() throws {
    for entry in self.destinationDirectory.entries {
      if let fault = DirectoryDestinations.fault(ofDirectory: entry.path) {
        throw StartError(\.destinationDirectory, fault)
      }
    }
  }
  var egress: EgressPolicy { EgressPolicy(allowedNetworks: allowedNetworks) }

  /// Returns the engine settings of every process.
  func engineSettings(now: @escaping @Sendable () -> Timestamp) -> TransferEngine.Settings {
    var engine = TransferEngine.Settings(
      egress: egress, blobs: blobs, pool: ThreadPool(name: "ferry-write", threads: 4))
    engine.destinations = destinations
    engine.smallBodyLimit = self.smallBodyLimit
    engine.maximumBodySize = Int64(self.maximumBodySize)
    engine.maximumActive = self.maximumTransfers
    engine.certificateAuthorityFile = certificateAuthorityFile
    engine.maximumAuthenticationAttempts = self.maximumAuthenticationAttempts
    engine.idleSessions = .init(descriptorLimit: Descriptors.limit, workers: self.transferLoops)
    engine.userAgent = "Ferry/\(Ferry.version)"
    engine.networks = NetworkEnvironment(policy: interfacePolicy)
    engine.now = now
    return engine
  }

  func makeEngine(
    _ engine: TransferEngine.Settings, workers: Int, _ relay: FactCallback
  ) throws -> TransferEngine {
    do throws(TransferError) {
      return try TransferEngine(workers: workers, settings: engine) { relay.deliver($0) }
    } catch {
      let isOfNetworks = error.reason == .url(.notConnectedToInternet)
      guard !isOfNetworks else { throw SettingsError(\.interfaceClass, error.message) }
      let fault = self.caFile.flatMap { path in NamedFile.fault(path).map { "\(path) \($0)" } }
      throw SettingsError(
        \.caFile,
        fault ?? "no certificates can be read from \(error.message); name a PEM file of certificates")
    }
  }
}
