import Foundation
import Glibc
import JSON
import TestSupport
import Testing

/// Expired rows and files are deleted, the oldest first, but not those that a pending message needs.
@Suite(.serialized, .blocking) struct RetentionTests {
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", [UInt8](repeating: 7, count: 40_000)))
    return true
  }

  private func start(_ options: [String], directory: String? = nil) throws -> FerryProcess {
    try FerryProcess(directory: directory, options: options + ["--retention-interval", "1"])
  }

  private func bodies(_ ferry: FerryProcess) throws -> Set<String> {
    try BodyFiles.names(in: ferry.directory)
  }

  private func status(_ ferry: FerryProcess, _ target: String, until wanted: Int) throws -> Int {
    for _ in 0..<400 {
      let status = try ferry.call("GET", target).status
      if status == wanted { return status }
      usleep(25_000)
    }
    return try ferry.call("GET", target).status
  }

  private func hasFile(_ ferry: FerryProcess, _ id: String, until wanted: Bool) throws -> Bool {
    try Patience.wait { try bodies(ferry).contains(id) != wanted }
    return try bodies(ferry).contains(id)
  }

  @Test func `expired task is deleted with its rows and files`() throws {
    let ferry = try start(["--task-retention", "2"])
    let suspended = try ferry.create(origin.url, resume: false)
    let id = try ferry.run(origin.url + "/").id
    #expect(try bodies(ferry) == [id])
    #expect(try status(ferry, "/v1/tasks/\(id)", until: 404) == 404)
    #expect(try hasFile(ferry, id, until: false) == false)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").status == 404)
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared/tasks").json["tasks"]?.elements?.count ?? 1 == 1)
    #expect(try ferry.task(suspended)["state"]?.string == "suspended")
  }

  @Test func `expired body leaves its task`() throws {
    let ferry = try start([])
    let session = try ferry.session(#"{"bodyRetention":1,"urlCache":null}"#)
    let id = try ferry.run(origin.url + "/", session: session).id
    let kept = try ferry.run(origin.url + "/").id
    #expect(try hasFile(ferry, id, until: false) == false)
    let task = try ferry.poll("/v1/tasks/\(id)") { $0["body"] == .null }
    #expect(task["body"] == .null && task["error"] == .null && task["state"]?.string == "completed")
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").status == 404)
    #expect(try ferry.call("GET", "/v1/tasks/\(kept)/body").body.count == 40_000)
    #expect(try bodies(ferry).contains(kept))
  }

  @Test func `oldest bodies are deleted above the quota`() throws {
    let directory = TemporaryDirectory.make("ferry-quota")
    var ferry = try start([], directory: directory)
    let session = try ferry.session(FerryProcess.uncached)
    let ids = try (0..<4).map { try ferry.run(origin.url + "/\($0)", session: session).id }
    #expect(try bodies(ferry) == Set(ids))
    #expect(ferry.terminate() == 0)
    ferry = try start(["--maximum-body-bytes", "90000"], directory: directory)
    #expect(try hasFile(ferry, ids[1], until: false) == false)
    #expect(try bodies(ferry) == Set(ids.suffix(2)))
    let newest = try ferry.run(origin.url + "/new", session: session).id
    #expect(try hasFile(ferry, ids[2], until: false) == false)
    #expect(try bodies(ferry) == [ids[3], newest])
    for id in ids.prefix(3) {
      #expect(try ferry.task(id)["body"] == .null)
      #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").status == 404)
    }
    #expect(try ferry.call("GET", "/v1/tasks/\(ids[3])/body").body.count == 40_000)
  }

  @Test func `replay of a pruned journal begins with a reset`() throws {
    let directory = TemporaryDirectory.make("ferry-events")
    var ferry = try start(["--event-retention", "1"], directory: directory)
    #expect(try ferry.story(of: ferry.run(origin.url + "/").id).first?.type == "task.didCreate")
    var first = try ferry.events("/v1/events?after=0&progress=false").next()
    for _ in 0..<400 where first?.type != "events.didReset" {
      usleep(25_000)
      // If the journal is empty, the stream sends nothing until the next event.
      let reader = try ferry.events("/v1/events?after=0&progress=false")
      first = try reader.next()
    }
    #expect(first?.type == "events.didReset" && first?.id == nil)
    #expect(ferry.terminate() == 0)
    // The next service knows the reset, and assigns no event number twice.
    ferry = try start([], directory: directory)
    let id = try ferry.run(origin.url + "/").id
    let reader = try ferry.events("/v1/events?progress=false", [("Last-Event-ID", "1")])
    var events: [EventReader.Event] = []
    // The end of the first task may not have expired yet.
    while events.last?.task != id || events.last?.type != "task.didComplete" {
      events.append(try #require(try reader.next()))
    }
    #expect(events.first?.type == "events.didReset")
    let oldest = try #require(events.first?.data["oldestAvailable"]?.integer)
    #expect(oldest > 2 && events.dropFirst().first?.id == oldest)
    #expect(events.last?.task == id)
    #expect(events.compactMap(\.id) == Array(oldest..<oldest + Int64(events.count) - 1))
    // A client that has seen all pruned events gets no reset.
    let next = try ferry.events("/v1/events?after=\(oldest - 1)&progress=false").next()
    #expect(next?.id == oldest)
  }

  @Test func `task with a pending message is kept`() throws {
    let ferry = try start([
      "--task-retention", "1", "--event-retention", "1", "--maximum-body-bytes", "1",
    ])
    let down = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("503 Service Unavailable", []))
      return true
    }
    let session = try ferry.session(#"{"bodyRetention":3600,"urlCache":null}"#)
    let body = """
      {"kind":"download","resume":true,"request":{"url":"\(origin.url)/"},
      "completion":{"webhook":{"url":"\(down.url)/","secret":null}}}
      """
    let held = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", body, [("Prefer", Patience.preference)]
    ).json.id
    let free = try ferry.run(origin.url + "/", session: session).id
    #expect(try status(ferry, "/v1/tasks/\(free)", until: 404) == 404)
    #expect(try hasFile(ferry, free, until: false) == false)
    #expect(try ferry.call("GET", "/v1/tasks/\(held)/body").body.count == 40_000)
    #expect(try bodies(ferry) == [held])
    #expect(try ferry.story(of: held).first?.type == "task.didCreate")
    #expect(!down.requests.isEmpty)
  }

  /// Resume data expires with the body retention.
  @Test func `resume data expires`() throws {
    let ferry = try start([])
    let resumable = ResumableOrigin()
    resumable.change {
      $0.stop = 300_000
      $0.cuts = true
    }
    let session = try ferry.session(#"{"bodyRetention":2}"#)
    let id = try ferry.run(resumable.url, session: session).id
    #expect(try ferry.task(id)["error"]?["resumeDataAvailable"]?.bool == true)
    #expect(try bodies(ferry).contains(id + ".resume"))
    #expect(try hasFile(ferry, id + ".resume", until: false) == false)
    let task = try ferry.poll("/v1/tasks/\(id)") { $0["error"]?["resumeDataAvailable"]?.bool == false }
    #expect(task["error"]?["resumeDataAvailable"]?.bool == false && task.errorCode == -1005)
  }

  /// A service that dies between the commit and the deletion leaves orphan files. They might belong to another
  /// database.
  @Test func `files of pruned tasks are quarantined at the next start`() throws {
    let directory = TemporaryDirectory.make("ferry-crash")
    var ferry = try start(["--task-retention", "1"], directory: directory)
    let id = try ferry.run(origin.url + "/").id
    #expect(try status(ferry, "/v1/tasks/\(id)", until: 404) == 404)
    ferry.kill()
    for name in [id, id + ".resume"] {
      let path = directory + "/bodies/" + name
      #expect(FileManager.default.createFile(atPath: path, contents: Data([1, 2, 3])))
    }
    ferry = try start([], directory: directory)
    for name in [id, id + ".resume"] { #expect(try hasFile(ferry, name, until: false) == false) }
    #expect(try bodies(ferry) == ["set-aside"])
  }

  /// Ephemeral tasks have no rows or files on disk. Their rows and bodies in memory expire too.
  @Test func `ephemeral tasks expire`() throws {
    let ferry = try start(["--task-retention", "2"])
    let session = try ferry.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id
    let id = try ferry.run(origin.url + "/", session: session).id
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").body.count == 40_000)
    #expect(try status(ferry, "/v1/tasks/\(id)", until: 404) == 404)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").status == 404)
    #expect(try ferry.call("GET", "/v1/sessions/\(session)").status == 200)
  }

  private static let limits = [
    "task-retention", "event-retention", "delivery-retention", "maximum-body-bytes",
  ]

  @Test(arguments: limits, ["0", "soon"]) func invalidLimitIsNamed(_ name: String, _ value: String) throws {
    let variable = "FERRY_" + name.uppercased().replacing("-", with: "_")
    let result = try FerryCommand.run(
      ["serve", "--data-directory", TemporaryDirectory.make("ferry-limits")], environment: [variable: value])
    #expect(result.status != 0)
    #expect(result.output.contains("\(name): '\(value)' is not a number of "))
  }
}
