import Testing
import TransferModel

@testable import TransferCore

/// Which webhook a message is for.
@Suite struct MessageTests {
  private static func delegate(_ url: String) -> SessionDelegate {
    var delegate = SessionDelegate()
    (delegate.webhook, delegate.events) = (Webhook(url: url, secret: "s"), [.taskDidCreate])
    return delegate
  }

  @Test func aMessageDoesNotRepeatTheSessionsWebhook() {
    var stage = Stage(delegate: Self.delegate("http://session.test/"))
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
