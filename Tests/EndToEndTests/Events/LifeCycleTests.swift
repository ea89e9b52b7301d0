import JSON
import TestSupport
import Testing

/// Task states, counts of suspensions, and the events that report them.
@Suite(.serialized, .blocking, .sharing) struct LifeCycleTests {
  private let ferry: FerryProcess
  private let gate: Gate
  private let origin: TestOrigin

  init() throws {
    ferry = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { request, socket in
      if request.path == "/gated" { gate.wait() }
      try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
      return true
    }
  }

  private func states(_ story: [EventReader.Event]) -> [String] {
    story.filter { $0.type == "task.didChangeState" }.map {
      ($0.data["state"]?.string ?? "") + ($0.data["phase"]?.string.map { "/" + $0 } ?? "")
    }
  }

  @Test func `new task is suspended and sends no request`() throws {
    let id = try ferry.create(origin.url, resume: false)
    // The first task had time to begin when the second has ended.
    _ = try ferry.run(origin.url + "/other")
    let task = try ferry.task(id)
    #expect(task["state"]?.string == "suspended" && task["phase"] == .null && task["startedAt"] == .null)
    #expect(origin.requests.map(\.path) == ["/other"])
    #expect(try ferry.act("cancel", id) == "canceling")
    let story = try ferry.story(of: id)
    #expect(
      story.map(\.type) == [
        "task.didCreate", "task.didChangeState", "task.didFinishCollectingMetrics", "task.didComplete",
      ])
  }

  /// After Foundation's test `suspendResumeTask`: a task needs as many resumes as suspensions, and one for its
  /// creation.
  @Test func `suspensions nest`() throws {
    let id = try ferry.create(origin.url, resume: false)
    for _ in 0..<3 { #expect(try ferry.act("suspend", id) == "suspended") }
    for _ in 0..<3 { #expect(try ferry.act("resume", id) == "suspended") }
    #expect(origin.requests.isEmpty)
    #expect(try ferry.act("resume", id) == "running")
    let story = try ferry.story(of: id)
    #expect(states(story) == ["running/queued", "running/transferring"])
    #expect(try ferry.task(id)["error"] == .null)
  }

  /// Resumes of a running task are not counted.
  @Test func `resume of a running task has no effect`() throws {
    let id = try ferry.create(origin.url + "/gated")
    for _ in 0..<3 { #expect(try ferry.act("resume", id) == "running") }
    #expect(try ferry.act("suspend", id) == "suspended")
    try ferry.waitForEarlierCommands(origin.url)
    gate.open()
    #expect(try ferry.task(id)["state"]?.string == "suspended")
    #expect(try ferry.act("resume", id) == "running")
    #expect(try ferry.end(of: id)["error"] == .null)
  }

  @Test(arguments: ["data", "download"]) func `each state has its event in order`(_ kind: String) throws {
    let id = try ferry.create(origin.url + "/gated", kind: kind, resume: false)
    _ = try ferry.act("resume", id)
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0&progress=false")
    while let event = try events.next(), event.data["phase"]?.string != "transferring" {}
    #expect(try ferry.act("suspend", id) == "suspended")
    #expect(try ferry.act("resume", id) == "running")
    gate.open()
    let story = try ferry.story(of: id)
    let told = ["task.didChangeState"]
    #expect(
      story.map(\.type) == ["task.didCreate"] + told + told + told + told
        + [kind == "data" ? "dataTask.didReceiveResponse" : "downloadTask.didFinishDownloading"]
        + ["task.didFinishCollectingMetrics", "task.didComplete"])
    #expect(
      states(story) == ["running/queued", "running/transferring", "suspended", "running/transferring"])
    #expect(story.compactMap(\.id) == story.compactMap(\.id).sorted() && story.allSatisfy { $0.id != nil })
    #expect(story.allSatisfy { $0.task == id })
    let times = story.compactMap { $0.json["time"]?.string }
    #expect(times == times.sorted() && times.count == story.count)
  }

  /// The identifiers of a session's tasks count from 1.
  @Test func `identifiers count within a session`() throws {
    let sessions = try (0..<2).map { _ in try ferry.session() }
    for number in 1...3 {
      for session in sessions {
        let task = try ferry.run(origin.url, session: session)
        #expect(task["taskIdentifier"]?.integer == Int64(number))
      }
    }
  }

  /// The tasks of a session queue for a connection to their origin. The task with the highest priority starts first.
  @Test func `queue is ordered by priority`() throws {
    let session = try ferry.session(#"{"httpMaximumConnectionsPerHost":1}"#)
    let first = try ferry.create(origin.url + "/gated", session: session)
    _ = try ferry.poll("/v1/tasks/\(first)") { $0["phase"]?.string == "transferring" }
    let target = "/v1/sessions/\(session)/tasks"
    let lines = [("/low", 0.25), ("/default", 0.5), ("/high", 0.75), ("/higher", 0.75)].map {
      path, priority in
      #"{"kind":"data","resume":true,"priority":\#(priority),"request":{"url":"\#(origin.url)\#(path)"}}"#
    }
    let queued = try ferry.call(
      "POST", target, lines.joined(separator: "\n"), [("Content-Type", "application/x-ndjson")])
    #expect(queued.lines.allSatisfy { $0["phase"]?.string == "queued" })
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    gate.open()
    for line in queued.lines { #expect(try ferry.end(of: line.id)["error"] == .null) }
    let paths = origin.requests.map(\.path).filter { $0 != "/settled" }
    #expect(paths == ["/gated", "/high", "/higher", "/default", "/low"])
  }

  /// Like `finishTasksAndInvalidate()`, which lets running tasks end.
  @Test func `finished session ends after its tasks`() throws {
    let session = try ferry.session()
    let id = try ferry.create(origin.url + "/gated", kind: "download", session: session)
    let path = "/v1/sessions/\(session)"
    #expect(try ferry.call("POST", path + "/invalidate", #"{"mode":"finishTasks"}"#).status == 202)
    gate.open()
    let events = try ferry.events(path + "/events?after=0").read(upTo: "session.didBecomeInvalid")
    #expect(events.suffix(2).map(\.type) == ["task.didComplete", "session.didBecomeInvalid"])
    #expect(events.suffix(2).first?.data["error"] == .null)
    #expect(try ferry.task(id)["body"]?["size"]?.integer == 2)
  }
}
