import FerrySettings
import Logging
import ServiceLifecycle
import TransferAPI
import TransferEngine
import TransferModel

/// Reads again what can be read while the process runs, each time that it is asked to.
struct ReloadService: ServiceLifecycle.Service {
  let requests: AsyncStream<Void>
  let readAgain: @Sendable () async -> Void

  func run() async throws {
    await cancelWhenGracefulShutdown {
      for await _ in requests { await readAgain() }
    }
  }
}

/// What `ferry serve` reads again: who may call, and whom TLS trusts.
struct Reload: Sendable {
  let settings: Settings
  let gatehouse: Gatehouse
  let engine: TransferEngine
  let supervisor: WorkerSupervisor
  let logger: Logger

  /// Each file counts for itself: one that is bad leaves what was read of it before.
  /// - Returns: what is wrong, a line for each.
  func run() async -> [String] {
    var faults: [String] = []
    do {
      // Those of the environment are as they were at the start.
      if settings.tokenFile != nil {
        gatehouse.relieve(by: Gatekeeper(tokens: try settings.readTokens()))
      }
    } catch {
      faults.append("\(error)")
    }
    do throws(TransferError) { try engine.readAuthoritiesAgain() } catch {
      faults.append("ca-file: \(error.message)")
    }
    await supervisor.passReloadOn()
    for fault in faults { logger.error("\(fault); what was read of it before stays") }
    if faults.isEmpty { logger.info("read tokens and authorities again") }
    return faults
  }
}
