import Foundation
import JSON
import TestSupport
import Testing

/// Commands of clients reach the worker that executes the task, or its successor.
@Suite(.serialized, .blocking) struct WorkerControlTests {
  private let place: BackgroundFixture
  private let origin = SlowOrigin(pace: 8_000, keepsBack: 200_000)

  init() throws { place = try BackgroundFixture() }

  private func date(in seconds: Double) -> String {
    Date().addingTimeInterval(seconds).ISO8601Format(.init(includingFractionalSeconds: true))
  }

  private func running(_ session: String) throws -> String {
    let id = try place.ferry.create(origin.url + "/", kind: "download", session: session)
    #expect(try place.task(id, received: 150_000)["state"]?.string == "running")
    return id
  }

  /// The argument says whether the worker is killed before each command.
  @Test(arguments: [false, true]) func `tasks are suspended and resumed`(_ dies: Bool) throws {
    let id = try running(place.session())
    if dies { #expect(try place.worker.send(SIGKILL)) }
    #expect(try place.ferry.act("suspend", id) == "suspended")
    _ = try place.worker.wait()
    usleep(1_500_000)
    let sent = origin.sent
    usleep(500_000)
    // A suspended connection may still fill its buffers. A transfer that was not restarted receives nothing.
    if dies { #expect(origin.sent == sent && origin.answers.count == 1) }
    #expect(try place.ferry.task(id)["state"]?.string == "suspended")
    if dies { #expect(try place.worker.send(SIGKILL)) }
    origin.setPace(600_000)
    #expect(try place.ferry.act("resume", id) == "running")
    #expect(try place.ferry.end(of: id)["error"] == .null)
    #expect(try place.ferry.body(of: id) == origin.body)
    #expect(origin.answers.count == (dies ? 2 : 1))
  }

  @Test(arguments: [false, true]) func `tasks are cancelled`(_ dies: Bool) throws {
    let id = try running(place.session())
    if dies { #expect(try place.worker.send(SIGKILL)) }
    _ = try place.ferry.act("cancel", id)
    let story = try place.ferry.story(of: id)
    #expect(story.count { $0.type == "task.didComplete" } == 1)
    // The next worker cancels the task without starting it first.
    #expect(try place.ferry.task(id).errorCode == -999 && origin.answers.count == 1)
  }

  @Test(arguments: [false, true]) func `resume data of a cancelled task works`(_ dies: Bool) throws {
    let session = try place.session()
    let id = try running(session)
    if dies { #expect(try place.worker.send(SIGKILL)) }
    let data = try #require(try place.ferry.cancelProducingResumeData(id).string)
    origin.setPace(600_000)
    let next = try place.ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"download","resume":true,"resumeData":"\#(data)"}"#
    ).json.id
    #expect(try place.ferry.end(of: next)["error"] == .null)
    #expect(try place.ferry.body(of: next) == origin.body)
    #expect(origin.answers.last?.first ?? 0 >= 100_000)
  }

  @Test func `priority of a running task is changed`() throws {
    let id = try running(place.session())
    let reply = try place.ferry.call("PATCH", "/v1/tasks/\(id)", #"{"priority":0.9}"#)
    #expect(reply.status == 200 && reply.json["priority"]?.double == 0.9)
    #expect(try place.worker.send(SIGKILL))
    origin.setPace(600_000)
    let task = try place.ferry.end(of: id)
    #expect(task["priority"]?.double == 0.9 && task["error"] == .null)
  }

  // MARK: Begin dates

  private func delayed(_ seconds: Double, _ session: String) throws -> String {
    origin.setPace(600_000)
    return try place.ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","resume":true,"earliestBeginDate":"\#(date(in: seconds))","request":{"url":"\#(origin.url)/"}}"#
    ).json.id
  }

  @Test func `task begins while the service is down`() throws {
    let id = try delayed(2.5, place.session())
    _ = try place.worker.wait()
    usleep(500_000)
    place.stop(SIGKILL)
    #expect(origin.answers.isEmpty)
    Patience.wait { origin.answers.isEmpty }
    #expect(origin.answers.count == 1)
    try place.start()
    let story = try place.ferry.story(of: id)
    #expect(story.count { $0.type == "task.willBeginDelayedRequest" } == 1)
    #expect(try place.ferry.task(id)["error"] == .null && origin.answers.count == 1)
  }

  @Test func `earlier begin date applies`() throws {
    let id = try delayed(3600, place.session())
    _ = try place.worker.wait()
    #expect(try place.ferry.task(id)["phase"]?.string == "queued" && origin.answers.isEmpty)
    let body = #"{"earliestBeginDate":"\#(date(in: 0.2))"}"#
    #expect(try place.ferry.call("PATCH", "/v1/tasks/\(id)", body).status == 200)
    #expect(try place.ferry.end(of: id)["error"] == .null)
  }

  // MARK: Discretionary tasks

  @Test func `discretionary task yields to others`() throws {
    let listener = try place.ferry.events("/v1/events")
    defer { withExtendedLifetime(listener) {} }
    let id = try running(place.session("idle", #"{"isDiscretionary":true}"#))
    let other = SlowOrigin(pace: 8_000, keepsBack: 200_000)
    let urgent = try place.ferry.create(other.url + "/", kind: "download", session: place.session("urgent"))
    _ = try place.task(urgent, received: 50_000)
    let received = try place.ferry.task(id).received
    _ = try place.task(urgent, received: 200_000)
    #expect(
      try place.ferry.task(id).received == received,
      "the yielding task makes no progress while the urgent one runs")
    for slow in [other, origin] { slow.setPace(600_000) }
    #expect(try place.ferry.end(of: urgent)["error"] == .null)
    #expect(try place.ferry.end(of: id)["error"] == .null)
    // The discretionary task resumed from its last byte.
    #expect(try place.ferry.body(of: id) == origin.body)
    #expect(origin.answers.count == 2 && origin.answers.last?.first ?? 0 >= 100_000)
  }

  /// Other tasks may wait for the connection that a discretionary task occupies.
  @Test func `discretionary task yields its connection`() throws {
    let session = try place.session("narrow", #"{"httpMaximumConnectionsPerHost":1}"#)
    let id = try running(session)
    #expect(try place.ferry.task(id)["isDiscretionary"]?.bool == true)
    let listener = try place.ferry.events("/v1/sessions/\(session)/events")
    defer { withExtendedLifetime(listener) {} }
    let urgent = try place.ferry.create(origin.url + "/urgent", kind: "download", session: session)
    _ = try place.task(urgent, received: 50_000)
    origin.setPace(600_000)
    #expect(try place.ferry.end(of: urgent)["error"] == .null)
    #expect(try place.ferry.end(of: id)["error"] == .null)
    #expect(try place.ferry.body(of: id) == origin.body)
  }

  @Test func `discretionary task waits outside its window`() throws {
    let hour = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: Date()).hour ?? 0
    let window = ["00", "30"].map { String(format: "%02d:", (hour + 12) % 24) + $0 }.joined(separator: "-")
    let place = try BackgroundFixture(options: ["--discretionary-window", window])
    let id = try place.ferry.create(
      origin.url + "/", session: place.session("a", #"{"isDiscretionary":true}"#))
    let session = try place.session("b")
    // A task that was created without listeners is discretionary and waits as well. A task that was created with a
    // listener does not wait.
    let unheard = try place.ferry.create(origin.url + "/unheard", session: session)
    #expect(try place.ferry.task(unheard)["isDiscretionary"]?.bool == true)
    let listener = try place.ferry.events("/v1/sessions/\(session)/events")
    defer { withExtendedLifetime(listener) {} }
    origin.setPace(600_000)
    #expect(try place.ferry.runInBackground(origin.url + "/other", session: session)["error"] == .null)
    let task = try place.ferry.task(id)
    #expect(task["state"]?.string == "running" && task["phase"]?.string == "queued")
    #expect(try place.ferry.task(unheard)["phase"]?.string == "queued")
    #expect(origin.answers.map(\.path) == ["/other"])
  }

  // MARK: Phases

  @Test func `waiting for a retry is shown after a suspension`() throws {
    let busy = FailingOrigin("503 Service Unavailable", "2", times: 1)
    let id = try place.ferry.create(busy.url + "/", session: place.session())
    _ = try place.ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
    #expect(try place.ferry.act("suspend", id) == "suspended")
    #expect(try place.ferry.act("resume", id) == "running")
    #expect(try place.ferry.task(id)["phase"]?.string == "waitingToRetry")
    let story = try place.ferry.story(of: id)
    let phases = story.filter { $0.type == "task.didChangeState" }.compactMap { $0.data["phase"]?.string }
    #expect(phases.suffix(2) == ["waitingToRetry", "transferring"], "\(phases)")
  }

  @Test func `queued task stays queued after a restart`() throws {
    let session = try place.session("a", #"{"httpMaximumConnectionsPerHost":1}"#)
    _ = try running(session)
    let id = try place.ferry.create(origin.url + "/", kind: "download", session: session)
    for isLater in [false, true] {
      #expect(try place.ferry.task(id)["phase"]?.string == "queued", "\(isLater)")
      place.stop(SIGKILL)
      try place.start()
    }
    #expect(try place.ferry.task(id)["phase"]?.string == "queued")
  }

  // MARK: Decisions about begin dates

  private func asked(_ question: String = "task.willBeginDelayedRequest") throws -> (
    id: String, decision: String
  ) {
    let session = try place.session(delegate: #"{"delayedRequests":"ask"}"#)
    let id = try place.ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","resume":true,"earliestBeginDate":"\#(date(in: 0))","request":{"url":"\#(origin.url)/"}}"#
    ).json.id
    return (id, try place.ferry.decisionEvent(of: id, question).decision)
  }

  private func goOn(_ decision: String) throws {
    #expect(try place.ferry.answer(decision, #"{"disposition":"continueLoading"}"#).status == 200)
  }

  @Test(arguments: [SIGTERM, SIGKILL]) func `answer to a suspended task is kept`(_ signal: Int32) throws {
    origin.setPace(600_000)
    let (id, decision) = try asked()
    #expect(try place.ferry.act("suspend", id) == "suspended")
    try goOn(decision)
    place.stop(signal)
    try place.start()
    #expect(try place.ferry.act("resume", id) == "running")
    let story = try place.ferry.story(of: id)
    #expect(story.count { $0.type == "task.willBeginDelayedRequest" } == 1)
    #expect(try place.ferry.task(id)["error"] == .null)
  }

  @Test func `later begin date applies until the task begins`() throws {
    origin.setPace(600_000)
    let (id, decision) = try asked()
    let later = date(in: 2)
    let patch = try place.ferry.call("PATCH", "/v1/tasks/\(id)", #"{"earliestBeginDate":"\#(later)"}"#)
    #expect(patch.status == 200)
    try goOn(decision)
    let task = try place.ferry.end(of: id)
    #expect(task["startedAt"]?.string ?? "" >= later)
    #expect(try place.ferry.story(of: id).count { $0.type == "task.willBeginDelayedRequest" } == 1)
  }

  @Test func `begin date does not affect a task that has begun`() throws {
    let busy = FailingOrigin("503 Service Unavailable", "1", times: 1)
    let id = try place.ferry.create(busy.url + "/", session: place.session())
    _ = try place.ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
    let patch = try place.ferry.call(
      "PATCH", "/v1/tasks/\(id)", #"{"earliestBeginDate":"\#(date(in: 900))"}"#)
    #expect(patch.status == 200)
    let story = try place.ferry.story(of: id)
    #expect(story.allSatisfy { $0.type != "task.willBeginDelayedRequest" })
  }
}
