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

  /// In a background session, the completion webhook receives one more message and the delegate still gets all of its own.
  @Test(arguments: [SessionType.default, .background])
  func `completion webhook replaces the delegate's outside background sessions`(_ type: SessionType) throws {
    var delegate = Self.delegate("http://session.test/")
    delegate.events = [.taskDidCreate, .downloadTaskDidFinishDownloading, .taskDidComplete]
    var harness = SessionMachineHarness(type, delegate: delegate)
    let id = harness.create(.download) { $0.completion = Webhook(url: "http://task.test/", secret: "s") }
    let task = try #require(harness.machine.task(id)?.task)
    var outcome = TransferOutcome.end(of: task, at: harness.now.wall)
    outcome.body = .memory([1])
    harness.fact(.ended(id, outcome))
    let types = harness.messages.compactMap { message -> String? in
      guard case .event(let event, _) = message.content else { return nil }
      return "\(event.type.rawValue) \(message.webhook?.url ?? "")"
    }
    let ends = [
      "downloadTask.didFinishDownloading ", "task.didComplete http://task.test/", "task.didComplete ",
    ]
    let expected = type == .background ? ends : [ends[1]]
    #expect(types == ["task.didCreate "] + expected)
  }
}
