import Processes
import ServiceLifecycle
import TransferService

/// Every open stream says that it lives (an SSE comment each 15 s). News that could not be read when somebody rang are read now, and
/// what a peak has left of memory goes back.
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
