import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// A session of type `ephemeral` writes nothing to the disk, whatever it does.
@Suite(.serialized, .blocking) final class EphemeralSessionTests {
  private enum Mark: String, CaseIterable {
    case url, query, header, sessionHeader, cookie, jar, password, bearer, body, upload, description
    case moved, answered, sessionDescription, webhook, response, key, patched, storedCookieName, proxy
    var text: String { "planted.\(rawValue).c01d-7e57" }
  }

  private let directory = TemporaryDirectory.make("ferry-ephemeral")
  private let temporary = TemporaryDirectory.make("ferry-tmp")
  private static let size = 10_000_000
  private static let contents: [UInt8] = {
    let block = Array((Mark.body.text + String(repeating: "-", count: 70)).utf8)
    return Array((0..<(size / block.count + 1)).flatMap { _ in block }.prefix(size))
  }()
  private let resumable = ResumableOrigin()
  private let origin = TestOrigin { request, socket in
    let fields = [
      ("Set-Cookie", "c=\(Mark.cookie.text); Max-Age=3600"), ("X-Response", Mark.response.text),
      ("Cache-Control", "max-age=3600"),
    ]
    if request.path.hasPrefix("/login"), request["Authorization"]?.hasPrefix("Basic") != true {
      let challenge = [("WWW-Authenticate", "Basic realm=\"r\"")]
      try socket.write(TestOrigin.reply("401 Unauthorized", Array(Mark.body.text.utf8), challenge))
    } else if request.path == "/moved" {
      let fields = [("Location", request["X-To"] ?? "/")]
      try socket.write(TestOrigin.reply("302 Found", [], fields))
    } else if request.path.hasPrefix("/big") {
      try socket.write(TestOrigin.reply("200 OK", EphemeralSessionTests.contents, fields))
    } else {
      try socket.write(TestOrigin.reply("200 OK", Array(Mark.body.text.utf8), fields))
    }
    return true
  }

  deinit {
    for path in [directory, temporary] { try? FileManager.default.removeItem(atPath: path) }
  }

  private func session(_ ferry: FerryProcess) throws -> String {
    let reply = try ferry.call(
      "POST", "/v1/sessions",
      """
      {"type":"ephemeral","description":"\(Mark.sessionDescription.text)","configuration":{
        "httpAdditionalHeaders":{"X-Session":"\(Mark.sessionHeader.text)"},
        "urlCache":{"memoryCapacity":400000000},
        "proxies":{"https":"http://u:\(Mark.proxy.text)@127.0.0.1:9"}},
       "delegate":{"webhook":{"url":"\(origin.url)/\(Mark.webhook.text)","events":["task.didComplete"]}}}
      """, [("Idempotency-Key", Mark.key.text)])
    #expect(reply.status == 201 && reply.json["type"]?.string == "ephemeral")
    let session = reply.json.id
    let space = #"{"host":"127.0.0.1","port":\#(origin.port),"protocol":"http","realm":"r"}"#
    let credential = #"{"user":"alice","password":"\#(Mark.password.text)","persistence":"permanent"}"#
    let stored = try ferry.call(
      "PUT", "/v1/sessions/\(session)/credentials",
      #"{"protectionSpace":\#(space),"credential":\#(credential)}"#)
    #expect(stored.status == 200)
    let cookie =
      #"{"name":"\#(Mark.storedCookieName.text)","value":"\#(Mark.jar.text)","domain":"127.0.0.1"}"#
    #expect(try ferry.call("PUT", "/v1/sessions/\(session)/cookies", cookie).status == 200)
    return session
  }

  /// Runs a task to its end.
  private func run(
    _ ferry: FerryProcess, _ kind: String, _ path: String, in session: String, _ rest: String = ""
  ) throws -> JSONValue {
    let task = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks?include=body",
      """
      {"kind":"\(kind)","resume":true,"description":"\(Mark.description.text)","request":{
        "url":"\(origin.url)\(path)/\(Mark.url.text)?q=\(Mark.query.text)",
        "headers":{"X-Mark":"\(Mark.header.text)"}\(rest)},
       "completion":{"webhook":{"url":"\(origin.url)/hook/\(Mark.webhook.text)"}}}
      """, [("Prefer", Patience.preference), ("Idempotency-Key", "\(Mark.key.text)-\(UUID().uuidString)")]
    ).json
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 200, "\(task.text.prefix(500))")
    return task
  }

  /// Uses all features of a session, with more than 100 MiB of bodies.
  private func work(_ ferry: FerryProcess) throws {
    let session = try session(ferry)
    _ = try run(ferry, "data", "/login", in: session)
    for number in 0..<10 {
      for kind in ["data", "download"] { _ = try run(ferry, kind, "/small\(number)", in: session) }
      let kind = number % 2 == 0 ? "data" : "download"
      let task = try run(ferry, kind, "/big\(number)", in: session)
      #expect(try ferry.body(of: task.id) == Self.contents)
    }
    let again = try run(ferry, "data", "/big8", in: session)
    #expect(again["response"]?["fromCache"]?.bool == true)
    let text = String(repeating: Mark.upload.text, count: 20_000)
    for body in ["text", "base64"] {
      let value = body == "text" ? text : Data(text.utf8).base64EncodedString()
      _ = try run(ferry, "upload", "/up", in: session, #","body":{"\#(body)":"\#(value)"},"method":"POST""#)
    }
    let streamed = try ferry.create(
      origin.url + "/streamed", kind: "upload", session: session,
      request: #","method":"POST","body":{"stream":true}"#)
    #expect(try ferry.put(Array(text.utf8), to: streamed).status == 204)
    try stopAndGoOn(ferry, session)
    try decide(ferry)
    let waiting = try ferry.create(origin.url + "/", session: session, resume: false)
    _ = try ferry.call(
      "PATCH", "/v1/tasks/\(waiting)", #"{"description":"\#(Mark.patched.text)"}"#,
      [("Content-Type", "application/merge-patch+json")])
    #expect(try ferry.task(waiting)["description"]?.string == Mark.patched.text)
  }

  /// Suspends and resumes two downloads, continues one from its resume data, and leaves the other unfinished.
  private func stopAndGoOn(_ ferry: FerryProcess, _ session: String) throws {
    resumable.change {
      $0.body = Array(Self.contents.prefix(5_000_000)); $0.stop = 3_000_000
    }
    let url = resumable.url + "/" + Mark.url.text
    var tasks: [String] = []
    for _ in 0..<2 {
      let task = try ferry.create(url, kind: "download", session: session)
      _ = try ferry.poll("/v1/tasks/\(task)") { $0.received >= 3_000_000 }
      #expect(try ferry.act("suspend", task) == "suspended")
      #expect(try ferry.act("resume", task) == "running")
      tasks.append(task)
    }
    let data = try #require(try ferry.cancelProducingResumeData(tasks[0]).string)
    resumable.change { $0.stop = nil }
    let rest = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"download","resume":true,"resumeData":"\#(data)"}"#,
      [("Prefer", Patience.preference)]
    ).json
    #expect(rest["error"] == .null && rest["body"]?["size"]?.integer == 5_000_000)
    #expect(resumable.requests.last?["Range"] == "bytes=3000000-")
    #expect(try ferry.body(of: rest.id) == Array(Self.contents.prefix(5_000_000)))
  }

  /// Answers decisions, whose answers must not be stored either.
  private func decide(_ ferry: FerryProcess) throws {
    let asking = #"{"taskChallenges":"ask","redirects":"ask","responses":"ask"}"#
    let session = try ferry.call("POST", "/v1/sessions", #"{"type":"ephemeral","delegate":\#(asking)}"#).json
      .id
    let task = try ferry.create(
      origin.url + "/moved", session: session, request: #","headers":{"X-To":"/login/\#(Mark.moved.text)"}"#)
    func answer(_ type: String, _ body: String) throws {
      let question = try ferry.decisionEvent(of: task, type)
      #expect(try ferry.answer(question.decision, body).status == 200)
    }
    let headers = #""headers":{"Authorization":"Bearer \#(Mark.bearer.text)"}"#
    let next = #"{"request":{"url":"\#(origin.url)/login/\#(Mark.moved.text)",\#(headers)}}"#
    try answer("task.willPerformHTTPRedirection", next)
    let credential =
      #"{"user":"alice","password":"\#(Mark.answered.text)","persistence":"permanent"}"#
    try answer(
      "task.didReceiveChallenge", #"{"disposition":"useCredential","credential":\#(credential)}"#)
    try answer("dataTask.didReceiveResponse", #"{"disposition":"becomeDownload"}"#)
    let stream = try ferry.events(
      "/v1/sessions/\(session)/events?after=0&types=downloadTask.didFinishDownloading")
    let download = try #require(try stream.next()?.task)
    #expect(download != task)
    #expect(try ferry.body(of: download) == Array(Mark.body.text.utf8))
  }

  private func sizes() -> Int {
    let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
    return names.reduce(0) { sum, name in
      let attributes = try? FileManager.default.attributesOfItem(atPath: directory + "/" + name)
      return sum + (attributes?[.size] as? Int ?? 0)
    }
  }

  private func expectNothing(_ when: String) {
    let planted = Mark.allCases.map { PlantedText(text: $0.text) }
    #expect(PlantedText.found(planted, under: directory) == [], "\(when)")
    #expect(FileManager.default.enumerator(atPath: temporary)?.allObjects.isEmpty == true, "\(when)")
  }

  @Test func `ephemeral session writes nothing to the disk`() throws {
    // A first start writes the files that every start needs.
    try FerryProcess(directory: directory).kill()
    let calls = SystemCalls(file: directory + ".strace")
    defer { try? FileManager.default.removeItem(atPath: calls.file) }
    let ferry = try FerryProcess(
      directory: directory, options: ["--log-level", "trace"], wrapper: calls.wrapper,
      environment: ["TMPDIR": temporary])
    let (before, started) = (sizes(), calls.all().count)
    try work(ferry)
    expectNothing("while the service runs")
    #expect(sizes() - before < 65_536)
    ferry.kill()
    expectNothing("after the service ended")
    for mark in Mark.allCases { #expect(!String(decoding: ferry.log, as: UTF8.self).contains(mark.text)) }

    let lines = try calls.lines(after: started)
    #expect(lines.contains { $0.contains("memfd:ferry-body") }, "the trace shows the bodies' memory files")
    let written = SystemCalls.written(lines)
    let database = directory.replacing("//", with: "/") + "/ferry.db"
    #expect(written.keys.allSatisfy { $0.hasPrefix(database) }, "\(written)")
    #expect(written.values.reduce(0, +) < 65_536, "\(written)")
    #expect(SystemCalls.named(lines).filter { !$0.contains(database) } == [])
    let restarted = try FerryProcess(directory: directory, environment: ["TMPDIR": temporary])
    expectNothing("after a restart")
    restarted.kill()
  }

  /// The control: the same search finds the data of a default session.
  @Test func `search finds a default session`() throws {
    let ferry = try FerryProcess(directory: directory)
    let session = try ferry.session()
    // Documents and small bodies are sealed in the database. Large bodies are plain files.
    for path in ["/big", "/small"] { _ = try run(ferry, "download", path, in: session) }
    ferry.kill()
    let found = PlantedText.found(
      [.init(text: Mark.url.text), .init(text: Mark.body.text)], under: directory)
    #expect(!found.isEmpty && found.allSatisfy { $0.hasPrefix("bodies/") }, "\(found)")
  }
}
