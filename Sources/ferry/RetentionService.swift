import Logging
import ServiceLifecycle
import TransferModel
import TransferService

/// Takes away what is old, at the start and then every minute.
struct RetentionService: ServiceLifecycle.Service {
  let service: TransferService
  let retention: Retention
  let interval: Duration
  let logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        await prune()
        try? await Task.sleep(for: interval)
      }
    }
  }

  private func prune() async {
    do {
      let counts = try await service.prune(by: retention)
      guard counts != PrunedCounts() else { return }
      logger.debug(
        "pruned",
        metadata: [
          "tasks": "\(counts.tasks)", "bodies": "\(counts.bodies)", "events": "\(counts.events)",
          "records": "\(counts.records)",
        ])
    } catch {
      logger.error("what is old cannot be taken away", metadata: ["error": "\(error)"])
    }
  }
}
