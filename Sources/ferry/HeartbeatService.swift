import Processes
import ServiceLifecycle
import TransferService

/// Sends a heartbeat to every open stream (an SSE comment each 15 s), reads news that could not be read when another process rang, and
/// gives memory back after a peak.
struct HeartbeatService: ServiceLifecycle.Service {
  let hub: EventHub
  let service: TransferService
  func run() async throws {
    await cancelWhenGracefulShutdown {
      var trim = HeapTrim()
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(15))
        trim.look()
        hub.heartbeat()
        service.lookForNews()
        service.follow()
      }
    }
  }
}
