import Logging
import ServiceLifecycle
import TransferModel
import TransferService

/// A service that prunes expired data at the start and then at an interval.
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
      logger.error("cannot prune expired data; the next run tries again", metadata: ["error": "\(error)"])
    }
  }
}
