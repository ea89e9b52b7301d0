import Processes
import ServiceLifecycle
import TransferService

/// Every 15 s, sends a heartbeat to each open stream (an SSE comment) and returns unused memory. It also reads worker reports that could
/// not be read when they arrived.
struct HeartbeatService: ServiceLifecycle.Service {
  let hub: EventHub
  let service: TransferService
  func run() async throws {
    await cancelWhenGracefulShutdown {
      var trim = HeapTrim()
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(15))
        trim.trimIfNeeded()
        hub.heartbeat()
        service.pollWorkerReports()
        service.publishRemoteCommits()
      }
    }
  }
}
