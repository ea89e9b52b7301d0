import Foundation
import JSON
import TestSupport
import Testing

/// Clients of background sessions are woken, and are notified when all events are delivered.
@Suite(.serialized, .blocking) struct BackgroundEventTests {
  private static let wakes = "session.handleEvents"
  private static let finished = "session.didFinishEvents"
  private static let ends = "task.didComplete"

  private let origin = TestOrigin { request, socket in
    if request.path == "/login" {
      try socket.write(
        TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"r\"")]))
    } else {
      try socket.write(TestOrigin.reply("200 OK", Array("body".utf8)))
    }
    return true
  }

  /// Returns the types of the session's first `count` events of two kinds: ends of tasks, and the end of its events.
  private func story(_ ferry: FerryProcess, _ session: String, upTo count: Int) throws -> [String] {
    let reader = try ferry.events(
      "/v1/sessions/\(session)/events?after=0&types=\(Self.ends),\(Self.finished)")
    return try (0..<count).compactMap { _ in try reader.next()?.type }
  }

  @Test func `client without an event stream is woken`() throws {
    let ferry = try FerryProcess()
    let hook = WebhookReceiver()
    let session = try ferry.background("photos", hook: hook)
    _ = try ferry.runInBackground(origin.url + "/", session: session)
    let message = try #require(hook.wait(for: Self.wakes).first?.json)
    #expect(message["data"]?["sessionId"]?.string == session)
    #expect(message["data"]?["identifier"]?.string == "photos")
    #expect(message["data"]?["taskId"] == .null && message["timestamp"]?.string != nil)
    #expect(try story(ferry, session, upTo: 2) == [Self.ends, Self.finished])
    #expect(hook.types == [Self.wakes], "the webhook receives only the events that it subscribed to")
    #expect(try !ferry.call("GET", "/v1/sessions/" + session).text.contains("owes"))
  }

  @Test(arguments: ["all", "session", "task"]) func `listening client is not woken`(_ scope: String) throws {
    let ferry = try FerryProcess()
    let hook = WebhookReceiver()
    let session = try ferry.background("a", hook: hook, events: [Self.finished])
    let task = try ferry.create(origin.url + "/", session: session, resume: false)
    let other = try ferry.background("b", hook: hook)
    let target =
      switch scope {
      case "all": "/v1/events"
      case "session": "/v1/sessions/\(session)/events"
      default: "/v1/tasks/\(task)/events"
      }
    let reader = try ferry.events(target)
    _ = try ferry.act("resume", task)
    _ = try reader.read(upTo: Self.ends)
    #expect(hook.wait(for: Self.finished).count == 1)
    #expect(hook.types == [Self.finished])
    // A client that reads one session's stream does not count as a client of another session.
    _ = try ferry.runInBackground(origin.url + "/", session: other)
    if scope != "all" { #expect(hook.wait(for: Self.wakes).count == 1) }
    #expect(try story(ferry, other, upTo: 2) == [Self.ends, Self.finished])
    #expect(hook.types.count == (scope == "all" ? 1 : 2))
  }

  @Test func `session without launch events wakes no client`() throws {
    let ferry = try FerryProcess()
    let hook = WebhookReceiver()
    let session = try ferry.background(
      "a", hook: hook, events: [Self.finished], configuration: #"{"sessionSendsLaunchEvents":false}"#)
    _ = try ferry.runInBackground(origin.url + "/", session: session)
    #expect(hook.wait(for: Self.finished).count == 1 && hook.types == [Self.finished])
  }

  @Test func `client is woken by a login challenge`() throws {
    let ferry = try FerryProcess()
    let hook = WebhookReceiver()
    let session = try ferry.background("a", hook: hook, delegate: #","taskChallenges":"ask""#)
    let task = try ferry.create(origin.url + "/login", session: session)
    #expect(hook.wait(for: Self.wakes).count == 1)
    #expect(try ferry.task(task)["phase"]?.string == "waitingForDecision")
    _ = try ferry.act("cancel", task)
    #expect(hook.wait(for: Self.wakes, 2).count == 2)
    #expect(try story(ferry, session, upTo: 2) == [Self.ends, Self.finished])
  }

  @Test func `one wake message is retried until it is delivered`() throws {
    let ferry = try FerryProcess()
    let hook = WebhookReceiver(["500 No"])
    let session = try ferry.background("a", hook: hook, events: [Self.finished])
    for _ in 0..<3 { _ = try ferry.runInBackground(origin.url + "/", session: session) }
    // All tasks have ended before the second attempt, so its delivery announces them all.
    #expect(hook.wait(for: Self.finished).count == 1)
    #expect(hook.types == [Self.wakes, Self.wakes, Self.finished])
    #expect(Set(hook.messages.prefix(2).map(\.id)).count == 1)
    _ = try ferry.runInBackground(origin.url + "/", session: session)
    #expect(hook.wait(for: Self.finished, 2).count == 2)
    #expect(Set(hook.messages.map(\.id)).count == 4)
    #expect(
      try story(ferry, session, upTo: 6)
        == [Self.ends, Self.ends, Self.ends, Self.finished, Self.ends, Self.finished])
  }

  @Test func `last task to end finishes the events`() throws {
    let ferry = try FerryProcess()
    let session = try ferry.background("a").json.id
    let last = try ferry.create(origin.url + "/", session: session, resume: false)
    for _ in 0..<2 { _ = try ferry.runInBackground(origin.url + "/", session: session) }
    _ = try ferry.act("resume", last)
    #expect(try story(ferry, session, upTo: 4) == [Self.ends, Self.ends, Self.ends, Self.finished])
  }

  /// The receiver accepts the retried message, or Ferry gives up its delivery. The events finish only afterwards.
  @Test(arguments: ["500 No", "410 Gone"]) func `events finish after all messages`(_ answer: String) throws {
    let ferry = try FerryProcess()
    let hook = WebhookReceiver([answer])
    let session = try ferry.background(
      "a", hook: hook, events: [Self.ends, Self.finished],
      configuration: #"{"sessionSendsLaunchEvents":false}"#)
    _ = try ferry.runInBackground(origin.url + "/", session: session)
    #expect(hook.wait(for: Self.finished).count == 1)
    let attempts = answer.hasPrefix("500") ? [Self.ends, Self.ends] : [Self.ends]
    #expect(hook.types == attempts + [Self.finished])
  }

  @Test func `last event of a session is its invalidation`() throws {
    let ferry = try FerryProcess()
    let session = try ferry.background("a").json.id
    let task = try ferry.create(origin.url + "/", session: session, resume: false)
    _ = try ferry.call("POST", "/v1/sessions/\(session)/invalidate")
    _ = try ferry.act("resume", task)
    let events = try ferry.events("/v1/sessions/\(session)/events?after=0").read(
      upTo: "session.didBecomeInvalid")
    #expect(events.suffix(3).map(\.type) == [Self.ends, Self.finished, "session.didBecomeInvalid"])
  }

  @Test func `pending messages are delivered after a restart`() throws {
    let directory = TemporaryDirectory.make("ferry-handover")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var ferry = try FerryProcess(directory: directory)
    let hook = WebhookReceiver(["500 No"])
    let session = try ferry.background("a", hook: hook, events: [Self.finished])
    _ = try ferry.runInBackground(origin.url + "/", session: session)
    #expect(hook.wait(for: Self.wakes).count == 1)
    ferry.kill()
    ferry = try FerryProcess(directory: directory)
    _ = try ferry.runInBackground(origin.url + "/", session: session)
    let wakesBefore = hook.messages.filter { $0.json["type"]?.string == Self.wakes }.map(\.id)
    // The pending message may be delivered before the second task ends. Then there are two wake messages and two
    // finished events.
    #expect(!hook.wait(for: Self.finished).isEmpty)
    let wakes = hook.messages.filter { $0.json["type"]?.string == Self.wakes }.map(\.id)
    // The pending message is delivered after the restart. If it is still pending at the second end, no second wake
    // message is created.
    #expect(wakes.filter { $0 == wakes.first }.count == 2)
    #expect(Set(wakes).count == 1 || wakesBefore.count > 1)
    // If the pending message arrived before the second end, the session's events finished then, too.
    let isEarly = try story(ferry, session, upTo: 2) == [Self.ends, Self.finished]
    let expected = isEarly ? [Self.ends, Self.finished] : [Self.ends]
    let story = try story(ferry, session, upTo: expected.count + 2)
    #expect(story == expected + [Self.ends, Self.finished])
  }
}
