import Foundation
import JSON
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct TaskCommandTests {
  private static let body = Array("hello\n".utf8)

  private static func origin() -> TestOrigin {
    TestOrigin { request, socket in
      if request.path.hasPrefix("/hang") {
        _ = try socket.readSome()
        return false
      }
      let status = request.path.hasPrefix("/404") ? "404 Not Found" : "200 OK"
      try socket.write(TestOrigin.reply(status, body))
      return true
    }
  }

  private func create(_ service: FerryProcess, _ url: String, resume: Bool = true) throws -> String {
    try service.call(
      "POST", "/v1/tasks",
      #"{"kind":"data","resume":\#(resume),"failOnStatus":true,"labels":{"a":"b"},"request":{"url":"\#(url)"}}"#
    ).json.id
  }

  @Test func `tasks are listed and shown and read and deleted by short ids`() throws {
    let service = try FerryProcess()
    let (client, origin) = (ClientFixture(server: service), Self.origin())
    let good = try create(service, origin.url + "/x\u{1B}[2J".replacingOccurrences(of: "\u{1B}", with: "%1B"))
    let bad = try create(service, origin.url + "/404")
    for id in [good, bad] { _ = try service.end(of: id) }
    let list = try client.run("ls")
    let lines = list.output.split(separator: "\n")
    #expect(list.status == 0 && lines.count == 3 && lines[0].hasPrefix("ID "))
    #expect(lines[1].hasPrefix(String(bad.suffix(8))) && lines[1].contains("failed"))
    #expect(!list.bytes.contains(0x1B))
    #expect(try client.run("ls", "--failed", "-l", "a=b").output.split(separator: "\n").count == 2)
    #expect(try client.run("ls", "--url", "*404*", "--since", "1h", "-o", "wide").output.contains(bad))
    #expect(try client.run("ls", "-l", "a=other").output.split(separator: "\n").count == 1)
    let json = try client.run("ls", "--json", "--state", "completed").objects
    #expect(json.map(\.id) == [bad, good])
    let show = try client.run("show", String(good.suffix(8)))
    #expect(show.status == 0 && show.output.contains("succeeded") && show.output.contains(good))
    #expect(try client.run("show", "--json", good).objects.first?.id == good)
    #expect(try client.run("cat", String(good.suffix(12))).bytes == Self.body)
    let watch = try client.run("watch", bad)
    #expect(
      watch.status == 4 && watch.output.contains("task.didCreate")
        && watch.output.contains("task.didComplete"))
    #expect(try client.run("watch", good).status == 0)
    let removed = try client.run("rm", String(good.suffix(8)))
    #expect(removed.status == 0 && removed.output == "deleted \(good)\n")
    #expect(try client.run("show", good).status == 6)
    #expect(try client.run("show", "12345678").output.contains("no task has the id"))
    #expect(try client.run("show", "short").status == 64)
    let retried = try client.run("retry", bad)
    #expect(retried.status == 0 && retried.output.hasPrefix("retried \(bad) as tsk_"))
    var pair = ["", "-"]
    while pair[0].prefix(12) != pair[1].prefix(12) {
      pair = try [create(service, origin.url), create(service, origin.url)]
    }
    let ambiguous = try client.run("show", String(pair[0].prefix(12)))
    #expect(
      ambiguous.status == 64 && pair.allSatisfy { ambiguous.output.contains($0) }, "\(ambiguous.output)")
  }

  @Test func `commands act on ids and on filters`() throws {
    let service = try FerryProcess()
    let (client, origin) = (ClientFixture(server: service), Self.origin())
    let id = try create(service, origin.url + "/hang")
    #expect(try client.run("suspend", id).output == "suspended \(id)\n")
    #expect(try service.task(id)["state"]?.string == "suspended")
    #expect(try client.run("resume", String(id.suffix(8))).status == 0)
    #expect(try client.run("cancel", "--running", "--dry-run").output == "1 tasks match\n")
    #expect(try client.run("cancel", "--running").output == "cancelled 1 of 1 tasks\n")
    #expect(try service.end(of: id)["outcome"]?.string == "cancelled")
    #expect(try client.run("rm", "--all").output == "deleted 1 of 1 tasks\n")
    #expect(try client.run("cancel").status == 64)
    #expect(try client.run("cancel", id, "--failed").status == 64)
    #expect(try client.run("cancel", id).status == 6)
    #expect(try client.run("ls", environment: ["FERRY_SERVER": "http://127.0.0.1:1"]).status == 2)
  }

  @Test func `file is uploaded`() throws {
    let service = try FerryProcess()
    let (client, origin) = (ClientFixture(server: service), Self.origin())
    try "upload me".write(toFile: client.directory + "/f.txt", atomically: true, encoding: .utf8)
    let result = try client.run("put", "f.txt", "\(origin.url)/in", "-H", "X-A: b")
    #expect(result.status == 0 && result.output == "uploaded f.txt (9 B): 200 OK\n", "\(result.output)")
    let request = origin.requests.last
    #expect(request?.method == "PUT" && request?.body == Array("upload me".utf8) && request?["X-A"] == "b")
    #expect(try service.call("GET", "/v1/files").json["items"]?.elementCount == 0)
    #expect(try client.run("put", "f.txt", "\(origin.url)/404").status == 4)
    #expect(try client.run("put", "missing", "\(origin.url)/in").status == 3)
    let piped = try client.run(
      "put", "-X", "POST", "-", "\(origin.url)/in",
      input: FileHandle(forReadingAtPath: client.directory + "/f.txt"))
    #expect(piped.status == 0 && origin.requests.last?.method == "POST")
  }

  @Test func `events are shown`() throws {
    let service = try FerryProcess()
    let (client, origin) = (ClientFixture(server: service), Self.origin())
    let id = try create(service, origin.url + "/a")
    _ = try service.end(of: id)
    let events = try client.run(
      "events", "--after", "0", "--count", "2", "--types", "task.didCreate,task.didComplete")
    let lines = events.output.split(separator: "\n")
    #expect(events.status == 0 && lines.count == 2 && lines[0].contains("task.didCreate"), "\(events.output)")
    let json = try client.run("events", "--json", "--after", "0", "--count", "1", "-l", "a=b").objects
    #expect(json.first?["taskId"]?.string == id)
  }

  @Test func `deliveries are listed and shown and repeated`() throws {
    let service = try FerryProcess()
    let (client, origin) = (ClientFixture(server: service), Self.origin())
    let receiver = WebhookReceiver()
    let result = try client.get("--webhook", receiver.url, "\(origin.url)/a.txt")
    #expect(result.status == 0)
    _ = receiver.waitForRequests(0..<1)
    _ = try service.poll("/v1/webhooks/deliveries") {
      $0["items"]?.elements?.first?["state"]?.string == "delivered"
    }
    let list = try client.run("hooks", "ls").output.split(separator: "\n")
    #expect(list.count == 2 && list[1].contains("delivered"))
    let id = String(list[1].prefix(8))
    #expect(try client.run("hooks", "show", id).output.contains("204"))
    #expect(try client.run("hooks", "resend", id).status == 0)
    #expect(receiver.waitForRequests(0..<2).count == 2)
    #expect(
      try client.run("hooks", "resend", "--failed", "--since", "1h").output == "sending 0 messages again\n")
    #expect(try client.run("hooks", "resend").status == 64)
  }

  @Test func `failed deliveries are sent again and counted`() throws {
    let service = try FerryProcess(options: ["--webhook-schedule", "0,0.05"])
    let (client, origin) = (ClientFixture(server: service), Self.origin())
    let receiver = WebhookReceiver(Array(repeating: "500 No", count: 6))
    let urls = ["a", "b", "c"].map { "\(origin.url)/\($0)" }
    #expect(try client.run("get", "--webhook", receiver.url, urls[0], urls[1], urls[2]).status == 0)
    func wait(for state: String) throws {
      _ = try service.poll("/v1/webhooks/deliveries?state=\(state)") { $0["items"]?.elementCount == 3 }
    }
    try wait(for: "failed")
    let failed = try client.run("hooks", "ls", "--failed").output.split(separator: "\n").dropFirst()
    #expect(failed.count == 3 && failed.allSatisfy { $0.contains("500 Internal Server Error") })
    let first = Set(receiver.messages.map(\.id))
    #expect(receiver.messages.count == 6 && first.count == 3)
    let resent = try client.run("hooks", "resend", "--failed")
    #expect(resent.status == 0 && resent.output == "sending 3 messages again\n")
    try wait(for: "delivered")
    let again = receiver.messages.dropFirst(6)
    #expect(again.count == 3 && Set(again.map(\.id)) == first)
    #expect(try client.run("hooks", "ls", "--failed").output.split(separator: "\n").count == 1)
    #expect(try client.run("hooks", "resend", "--failed").output == "sending 0 messages again\n")
  }

  /// The variables of the client and of the service do not disturb each other.
  @Test func `variables of the client are ignored by the service`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let variables = ["FERRY_SERVER": "http://127.0.0.1:1", "FERRY_TOKEN": "x", "FERRY_CONTEXT": "y"]
    #expect(try client.run("config", environment: variables).status == 0)
    let result = try client.run(
      "get", "--allow-network", "127.0.0.0/8", "\(origin.url)/a.txt",
      environment: ["FERRY_TOKEN": "x", "FERRY_LOG_LEVEL": "wrong", "FERRY_DATA_DIRECTORY": "/nowhere"])
    #expect(result.status == 0 && client.files == ["a.txt"], "\(result.output)")
  }

  @Test func `context names a service with its token`() throws {
    let service = try FerryProcess(environment: ["FERRY_TOKENS": "s3cret"])
    let client = ClientFixture()
    let server = "http://127.0.0.1:\(service.port)"
    #expect(try client.run("ls", "--server", server).status == 6)
    #expect(try client.run("ls", "--server", server, environment: ["FERRY_TOKEN": "s3cret"]).status == 0)
    #expect(
      try client.run("context", "add", "home", server, environment: ["FERRY_TOKEN": "s3cret"]).status == 0)
    #expect(try client.run("ls").status == 0)
    // The token of a context is not sent to another server.
    #expect(try client.run("ls", "--server", server).status == 6)
    #expect(try client.run("context", "add", "--no-token", "other", "http://127.0.0.1:1").status == 0)
    #expect(try client.run("context", "ls").output.contains("*         home    yes     \(server)"))
    #expect(try client.run("context", "use", "other").status == 0)
    #expect(try client.run("ls").status == 2)
    #expect(try client.run("ls", "--context", "home").status == 0)
    #expect(try client.run("ls", environment: ["FERRY_CONTEXT": "home"]).status == 0)
    #expect(try client.run("context", "use", "missing").status == 78)
    let file = client.state + "/config/ferry/contexts.json"
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    chmod(file, 0o644)
    let open = try client.run("ls")
    #expect(open.status == 78 && open.output.contains("chmod 600"))
    chmod(file, 0o600)
    #expect(try client.run("context", "rm", "home").status == 0)
    #expect(try client.run("context", "ls").output.split(separator: "\n").count == 2)
  }
}
