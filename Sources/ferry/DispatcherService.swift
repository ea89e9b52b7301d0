import ServiceLifecycle
import Webhooks

/// Sends webhook messages until the service stops.
struct DispatcherService: ServiceLifecycle.Service {
  let dispatcher: WebhookDispatcher
  let sender: WebhookSender
  func run() async throws {
    dispatcher.start()
    try? await gracefulShutdown()
    dispatcher.stop()
    await sender.stop()
  }
}
