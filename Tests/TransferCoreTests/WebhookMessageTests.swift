import Testing
import TransferModel

@testable import TransferCore

/// The webhook of a message.
@Suite struct WebhookMessageTests {
  private static func delegate(_ url: String) -> SessionDelegate {
    var delegate = SessionDelegate()
    (delegate.webhook, delegate.events) = (Webhook(url: url, secret: "s"), [.taskDidCreate])
    return delegate
  }

  @Test func `message does not repeat the webhook of its session`() {
    var stage = SessionMachineHarness(delegate: Self.delegate("http://session.test/"))
    _ = stage.create()
    _ = stage.create {
      $0.preferences.delegate = TaskDelegate(Self.delegate("http://task.test/"), given: [.webhook])
    }
    _ = stage.create {
      $0.preferences.delegate = TaskDelegate(Self.delegate("http://session.test/"), given: [.webhook])
    }
    #expect(stage.messages.map(\.webhook?.url) == [nil, "http://task.test/", nil])
  }
}
