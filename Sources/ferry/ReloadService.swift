import FerrySettings
import Logging
import ServiceLifecycle
import TransferAPI
import TransferEngine
import TransferModel

/// A service that reloads files on request while the process runs.
struct ReloadService: ServiceLifecycle.Service {
  let requests: AsyncStream<Void>
  let readAgain: @Sendable () async -> Void

  func run() async throws {
    await cancelWhenGracefulShutdown {
      for await _ in requests { await readAgain() }
    }
  }
}

/// The files that `ferry serve` reloads: tokens and certificate authorities.
struct Reload: Sendable {
  let settings: Settings
  let authenticator: ReloadableAuthenticator
  let engine: TransferEngine
  let supervisor: WorkerSupervisor
  let logger: Logger

  /// Reloads each file. A faulty file keeps its previous content, and the others are still reloaded.
  /// - Returns: the faults, one line each.
  func run() async -> [String] {
    var faults: [String] = []
    do {
      // Tokens in the environment cannot change while the process runs.
      if settings.tokenFile != nil {
        authenticator.replace(by: RequestAuthenticator(tokens: try settings.readTokens()))
      }
    } catch {
      faults.append("\(error)")
    }
    do throws(TransferError) { try engine.reloadCertificateAuthorities() } catch {
      faults.append("ca-file: \(error.message)")
    }
    await supervisor.reloadWorker()
    for fault in faults { logger.error("\(fault); the earlier contents stay in use") }
    if faults.isEmpty { logger.info("read tokens and certificate authorities again") }
    return faults
  }
}
