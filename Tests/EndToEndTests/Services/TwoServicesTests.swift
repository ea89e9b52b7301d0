import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Two services share a data directory, and reply alike to their clients.
@Suite(.serialized, .blocking, .endsInTime) struct TwoServicesTests {
  private let directory = TemporaryDirectory.make("ferry-two")
  private let gate: Gate
  private let origin: TestOrigin

  init() {
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { request, socket in try Self.answer(request, socket, gate) }
  }

  private static func answer(_ request: TestOrigin.Request, _ socket: Socket, _ gate: Gate) throws -> Bool {
    switch request.path {
    case "/gate", "/mute":
      gate.wait()
      try socket.write(TestOrigin.reply("200 OK", Array("whole".utf8)))
    case "/slow":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
      return try socket.readSome() != nil
    case "/hop":
      try socket.write(TestOrigin.reply("302 Found", Array("hop".utf8), [("Location", "/end")]))
    default: try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8) + request.body))
    }
    return true
  }

  private func two() throws -> [FerryProcess] {
    let first = try FerryProcess(directory: directory)
    let second = try FerryProcess(directory: directory)
    // Both services know each other now.
    #expect(first.hasLogged("a service has joined"))
    return [first, second]
  }

  /// Creates a session at each of the services.
  private func sessions(_ body: String, at ferries: [FerryProcess]) throws -> [String] {
    try ferries.map { try $0.call("POST", "/v1/sessions", body).json.id }
  }

  @Test(arguments: [#"{"type":"default"}"#, #"{"type":"ephemeral"}"#])
  func `either service runs tasks of any session`(_ body: String) throws {
    let ferries = try two()
    for session in try sessions(body, at: ferries) {
      for (asked, other) in [(ferries[0], ferries[1]), (ferries[1], ferries[0])] {
        #expect(try asked.call("GET", "/v1/sessions/\(session)").json.id == session)
        let task = try asked.run(origin.url + "/a", session: session)
        #expect(task["state"]?.string == "completed" && task["error"] == .null)
        #expect(try other.call("GET", "/v1/tasks/\(task.id)").json == task)
        #expect(try other.call("GET", "/v1/tasks/\(task.id)/body").text == "/a")
        // Replies without a body have the same length.
        for (method, fields) in [("HEAD", []), ("GET", [("If-None-Match", "*")])] {
          let lengths = try ferries.map {
            try $0.call(method, "/v1/tasks/\(task.id)/body", nil, fields)["Content-Length"]
          }
          #expect(lengths == ["2", "2"], "\(method)")
        }
        #expect(try asked.call("GET", "/v1/tasks/\(task.id)/metrics").status == 200)
        let stories = try ferries.map { try $0.story(of: task.id).map(\.type) }
        #expect(stories[0] == stories[1] && stories[0].last == "task.didComplete")
        let list = try other.call("GET", "/v1/sessions/\(session)/tasks").json["items"]?.elements ?? []
        #expect(list.contains { $0.id == task.id })
      }
    }
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  @Test func `change of a webhook endpoint holds at both services when the reply arrives`() throws {
    let ferries = try two()
    let all = try (0..<4).flatMap { _ in try sessions("{}", at: ferries) }
    let receiver = WebhookReceiver()
    let endpoint = try ferries[0].call("POST", "/v1/webhooks/endpoints", #"{"url":"\#(receiver.url)"}"#).json
    let path = "/v1/webhooks/endpoints/\(endpoint.id)"
    let count = all.count
    /// Runs a task in each session, and returns their messages.
    func messages(after earlier: Int) throws -> [TestOrigin.Request] {
      for session in all { _ = try ferries[1].run(origin.url + "/a", session: session) }
      return receiver.waitForRequests(earlier..<earlier + count)
    }
    #expect(try messages(after: 0).count == count)
    let rotated = try ferries[0].call("POST", path + "/rotate-secret", #"{"overlap":0}"#).json
    let key = try #require(Data(base64Encoded: String(rotated["secret"]?.string?.dropFirst(6) ?? "")))
    let signedAnew = try messages(after: count)
    #expect(signedAnew.count == count)
    for message in signedAnew {
      let signed =
        Array("\(message["webhook-id"] ?? "").\(message["webhook-timestamp"] ?? "").".utf8) + message.body
      let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
      #expect(message["webhook-signature"] == "v1," + Data(code).base64EncodedString())
    }
    // The owner of the shared session sends it.
    for ferry in ferries { #expect(try ferry.call("POST", path + "/test").status == 202) }
    #expect(receiver.waitForRequests(2 * count..<2 * count + 2).count == 2)
    #expect(try ferries[1].call("PATCH", path, #"{"state":"disabled"}"#).status == 200)
    #expect(try ferries[0].call("POST", path + "/test").status == 409)
    #expect(try ferries[0].call("DELETE", path).status == 204)
    #expect(try ferries[1].call("GET", path).status == 404)
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  @Test func `running task can be controlled from both services`() throws {
    let ferries = try two()
    for session in try sessions(#"{"delegate":{"redirects":"ask"}}"#, at: ferries) {
      for (asked, other) in [(ferries[0], ferries[1]), (ferries[1], ferries[0])] {
        // A command, and a stream of the other service.
        let slow = try asked.create(origin.url + "/slow", session: session)
        let events = try other.events("/v1/tasks/\(slow)/events?after=0")
        _ = try events.read(upTo: "dataTask.didReceiveResponse")
        #expect(try other.act("suspend", slow) == "suspended")
        #expect(try asked.act("resume", slow) == "running")
        #expect(try other.act("cancel", slow) == "canceling")
        #expect(try events.read(upTo: "task.didComplete").last?.type == "task.didComplete")
        // A decision.
        let hop = try asked.create(origin.url + "/hop", session: session)
        let decision = try other.decisionEvent(of: hop).decision
        #expect(try other.decision(decision)["state"]?.string == "pending")
        #expect(try other.answer(decision, #"{"request":null}"#).status == 200)
        #expect(try asked.end(of: hop)["response"]?["status"]?.integer == 302)
        // A body that the client sends.
        let upload = try asked.create(
          origin.url + "/put", kind: "upload", session: session,
          request: #","method":"PUT","body":{"stream":true}"#)
        let bytes = [UInt8](repeating: 7, count: 3_000_000)
        #expect(try other.put(bytes, to: upload).status == 204)
        #expect(try asked.end(of: upload)["error"] == .null)
        #expect(try other.call("GET", "/v1/tasks/\(upload)/body").body.count == bytes.count + 4)
      }
    }
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  @Test func `lists are complete and keys are shared`() throws {
    let ferries = try two()
    var created: Set<String> = ["ses_shared"]
    for type in ["default", "ephemeral"] {
      for _ in 0..<3 { created.formUnion(try sessions(#"{"type":"\#(type)"}"#, at: ferries)) }
    }
    for ferry in ferries {
      var (found, cursor): ([String], String?) = ([], "")
      while let next = cursor {
        let page = try ferry.call("GET", "/v1/sessions?limit=5" + (next.isEmpty ? "" : "&cursor=\(next)"))
          .json
        found += (page["items"]?.elements ?? []).map(\.id)
        cursor = page["nextCursor"]?.string
      }
      #expect(
        Set(found) == created && found.count == created.count
          && found.dropFirst() == found.dropFirst().sorted()[...])
    }
    let bodies = [#"{"type":"default"}"#, #"{"type":"ephemeral"}"#]
    for (number, body) in bodies.enumerated() {
      let replies = try (ferries + ferries).map {
        try $0.call("POST", "/v1/sessions", body, [("Idempotency-Key", "k\(number)")])
      }
      #expect(Set(replies.map(\.text)).count == 1 && replies.allSatisfy { $0.status == 201 })
    }
    let name = #"{"type":"background","identifier":"mirror","delegate":{}}"#
    let named = try (ferries + ferries).map { try $0.call("POST", "/v1/sessions", name) }
    #expect(named.map(\.status) == [201, 200, 200, 200] && Set(named.map(\.json.id)).count == 1)
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  /// At SIGTERM, the service hands its sessions over. No client notices.
  @Test func `stopping service hands over its sessions`() throws {
    let ferries = try two()
    let all = try (0..<8).flatMap { _ in try sessions("{}", at: ferries) }
    for session in all { _ = try ferries[0].run(origin.url + "/a", session: session) }
    let paused = try ferries[0].create(origin.url + "/later", session: all[0], resume: false)
    // Running tasks continue there if no effect is repeated. A download continues from its last byte. A data task
    // starts again if it has no event of a response yet.
    let download = try ferries[0].create(origin.url + "/gate", kind: "download", session: all[0])
    let data = try ferries[0].create(origin.url + "/mute", session: all[2])
    let story = try ferries[1].events("/v1/tasks/\(download)/events?after=0")
    while origin.requests.count(where: { ["/gate", "/mute"].contains($0.path) }) < 2 { usleep(5000) }
    #expect(ferries[0].terminate() == 0)
    for _ in 0..<4 { gate.open() }
    withExtendedLifetime(story) {}
    for task in [download, data] {
      let end = try ferries[1].end(of: task)
      #expect(end["error"] == .null && end["retryCount"]?.integer == 1, "\(end)")
    }
    for session in all {
      let task = try ferries[1].run(origin.url + "/b", session: session)
      #expect(task["state"]?.string == "completed" && task["error"] == .null)
      let items = try ferries[1].call("GET", "/v1/sessions/\(session)/tasks").json["items"]?.elements ?? []
      #expect(items.filter { $0["state"]?.string == "completed" }.allSatisfy { $0["error"] == .null })
    }
    #expect(try ferries[1].act("resume", paused) == "running")
    #expect(try ferries[1].end(of: paused)["error"] == .null)
    #expect(ferries[1].terminate() == 0)
  }

  /// Returns the state of a process (proc_pid_stat(5)), or `nil` if it is gone.
  private static func state(of process: Int32) -> String? {
    let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return line?.split(separator: ")").last?.split(separator: " ").first.map(String.init)
  }

  /// The service is dead or frozen.
  @Test(arguments: [SIGKILL, SIGSTOP]) func `lost service is taken over`(_ signal: Int32) throws {
    let ferries = try two()
    let all = try (0..<8).flatMap { _ in try sessions("{}", at: ferries) }
    let running = try all.map { try ferries[0].create(origin.url + "/slow", session: $0) }
    for task in running {
      _ = try ferries[0].events("/v1/tasks/\(task)/events?after=0").read(upTo: "dataTask.didReceiveResponse")
    }
    ferries[0].signal(signal)
    // After this the service answers no request.
    while !["T", "Z", nil].contains(Self.state(of: ferries[0].processIdentifier)) { usleep(1000) }
    var (ended, going) = (0, 0)
    for (session, task) in zip(all, running) {
      // The request waits for the take-over.
      _ = try ferries[1].act("cancel", task)
      switch try ferries[1].end(of: task).errorCode {
      case -1005: ended += 1
      case -999: going += 1
      case let code: Issue.record("\(String(describing: code))")
      }
      #expect(try ferries[1].run(origin.url + "/b", session: session)["error"] == .null)
    }
    #expect(ended > 0 && going > 0)
    if signal == SIGSTOP {
      ferries[0].signal(SIGCONT)
      #expect(ferries[0].end() == 1)
      #expect(ferries[0].hasLogged("another service has taken over"))
    }
    #expect(ferries[1].terminate() == 0)
  }
}
