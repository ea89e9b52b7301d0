import Foundation
import JSON
import TestSupport
import Testing

/// Operations, idempotency keys in use, access, restarts and full disks.
@Suite(.serialized, .blocking) struct ServiceTests {
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return (try socket.readSome()) != nil }
    let size = Int(request.path.dropFirst()) ?? 2
    try socket.write(TestOrigin.reply("200 OK", [UInt8](repeating: 65, count: size)))
    return true
  }

  private func task(_ path: String, kind: String = "download", resume: Bool = true) -> String {
    #"{"kind":"\#(kind)","resume":\#(resume),"request":{"url":"\#(origin.url)\#(path)"}}"#
  }

  @Test func `operations endpoints answer`() throws {
    let ferry = try FerryProcess()
    #expect(try ferry.call("GET", "/livez").status == 200)
    #expect(try ferry.call("GET", "/readyz").status == 200)
    #expect(try ferry.call("GET", "/version").json["name"]?.string == "ferry")
    #expect(try ferry.call("GET", "/openapi.yaml").text.hasPrefix("openapi: 3.1"))
    #expect(ferry.terminate() == 0)
  }

  @Test func `idempotency key in use is a conflict`() throws {
    let ferry = try FerryProcess()
    let client = try HTTPClient(port: ferry.port)
    let body = Array(task("/silent").utf8)
    let head = "POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    try client.socket.write(
      Array((head + "Idempotency-Key: k\r\nPrefer: wait=2\r\nContent-Length: \(body.count)\r\n\r\n").utf8)
        + body)
    _ = try ferry.poll("/v1/sessions/ses_shared/tasks") { $0["items"]?.elements?.isEmpty == false }
    #expect(try ferry.call("POST", "/v1/tasks", task("/silent"), [("Idempotency-Key", "k")]).status == 409)
    #expect(try client.readReply().status == 202)
  }

  @Test func `access is local without a token and needs a bearer token otherwise`() throws {
    let ferry = try FerryProcess()
    #expect(try ferry.call("GET", "/v1/sessions", nil, [("Host", "evil.example")]).status == 403)
    #expect(try ferry.call("GET", "/v1/sessions", nil, [("Host", "localhost:\(ferry.port)")]).status == 200)
    #expect(try ferry.call("GET", "/v1/sessions", nil, [("Origin", "http://evil.example")]).status == 403)
    let directory = TemporaryDirectory.make("ferry-token")
    try "secret-token\n".write(toFile: directory + "/tokens", atomically: true, encoding: .utf8)
    let guarded = try FerryProcess(options: ["--token-file", directory + "/tokens"])
    let refused = try guarded.call("GET", "/v1/sessions")
    #expect(refused.status == 401 && refused["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
    #expect(try guarded.call("GET", "/v1/sessions", nil, [("Authorization", "Bearer wrong")]).status == 401)
    #expect(
      try guarded.call("GET", "/v1/sessions", nil, [("Authorization", "Bearer secret-token")]).status == 200)
    #expect(try guarded.call("GET", "/livez").status == 200)
  }

  @Test func `start is refused with a clear error`() throws {
    let tokens = TemporaryDirectory.make("ferry-token")
    defer { try? FileManager.default.removeItem(atPath: tokens) }
    try "one\nthis is none\n".write(toFile: tokens + "/words", atomically: true, encoding: .utf8)
    try "a one\nb one\n".write(toFile: tokens + "/twice", atomically: true, encoding: .utf8)
    for (options, environment, word) in [
      (["--token-file", tokens + "/words"], [:], "line 2"),
      (["--token-file", tokens + "/twice"], [:], "another tenant"),
      (["--listen", "0.0.0.0:0"], [:], "token"), (["--listen", "nowhere"], [:], "listen"),
      (["--allow-network", "10.0.0.1/8"], [:], "allow-network"),
      ([], ["FERRY_TRANSFER_LOOPS": "many"], "transfer-loops"),
      (["--config", "/no/such"], [:], "config"),
    ] as [([String], [String: String], String)] {
      let arguments = ["serve", "--data-directory", TemporaryDirectory.make("ferry-no")] + options
      let result = try ChildProcess.run(FerryProcess.binary, arguments, environment: environment)
      #expect(result.status != 0 && result.output.contains(word), "\(options): \(result.output)")
    }
  }

  @Test func `acknowledged state survives SIGKILL`() throws {
    let directory = TemporaryDirectory.make("ferry-kill")
    var ferry = try FerryProcess(directory: directory)
    let session = try ferry.session()
    let running =
      try ferry.call("POST", "/v1/sessions/\(session)/tasks", task("/silent")).json["id"]?.string ?? ""
    let suspended =
      try ferry.call("POST", "/v1/sessions/\(session)/tasks", task("/9", resume: false)).json["id"]?.string
      ?? ""
    let done = try ferry.run(origin.url + "/500000", session: session)["id"]?.string ?? ""
    let before = try ferry.call("GET", "/v1/tasks/\(done)").json
    ferry.kill()
    ferry = try FerryProcess(directory: directory)
    let lost = try ferry.poll("/v1/tasks/\(running)") { $0["state"]?.string == "completed" }
    #expect(lost["error"]?["name"]?.string == "networkConnectionLost")
    #expect(try ferry.call("GET", "/v1/tasks/\(done)").json == before)
    #expect(try ferry.call("GET", "/v1/tasks/\(done)/body").body.count == 500_000)
    #expect(try ferry.call("GET", "/v1/tasks/\(suspended)").json["state"]?.string == "suspended")
    _ = try ferry.call("POST", "/v1/tasks/\(suspended)/resume")
    let resumed = try ferry.poll("/v1/tasks/\(suspended)") { $0["state"]?.string == "completed" }
    #expect(resumed["body"]?["size"]?.integer == 9)
    let next = try ferry.call("POST", "/v1/sessions/\(session)/tasks", task("/", resume: false))
    #expect(next.json["taskIdentifier"]?.integer == 4)
    let events = try ferry.events("/v1/tasks/\(running)/events?after=0").read(upTo: "task.didComplete")
    #expect(events.first?.type == "task.didCreate" && events.last?.data["error"]?["code"]?.integer == -1005)
    #expect(ferry.terminate() == 0)
  }

  @Test func `full disk fails the task and the service keeps running`() throws {
    let directory = TemporaryDirectory.make("ferry-full")
    let script = "mount -t tmpfs -o size=12m tmpfs \(directory) && exec \"$@\""
    let ferry = try FerryProcess(
      directory: directory, wrapper: ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"])
    let large = try ferry.run(origin.url + "/40000000")
    #expect(large["error"]?["name"]?.string == "cannotWriteToFile")
    #expect(large["error"]?["underlying"]?["code"]?.integer == 28)
    let after = try ferry.run(origin.url + "/100")
    #expect(after["error"] == .null && after["body"]?["size"]?.integer == 100)
    // The database fills up too. Creations are then refused with 507, and no acknowledged task is lost. The text does
    // not compress.
    var noise = SplitMix64(seed: 7)
    func filler() -> String {
      let description = (0..<3_900).map { _ in String(noise.next(), radix: 16) }.joined()
      return #"{"kind":"data","description":"\#(description)","request":{"url":"http://a/"}}"#
    }
    var created = 0
    var refused: HTTPReply?
    while refused == nil, created < 500 {
      let reply = try ferry.call("POST", "/v1/tasks", filler())
      if reply.status == 201 { created += 1 } else { refused = reply }
    }
    #expect(refused?.status == 507 && refused?.json["type"]?.string == "/problems/insufficient-storage")
    var (listed, cursor) = (0, "")
    repeat {
      let page = try ferry.call("GET", "/v1/sessions/ses_shared/tasks?kind=data&limit=500\(cursor)").json
      listed += page["items"]?.elements?.count ?? 0
      cursor = page["nextCursor"]?.string.map { "&cursor=\($0)" } ?? ""
    } while !cursor.isEmpty
    #expect(listed == created)
    #expect(try ferry.call("GET", "/livez").status == 200)
  }
}
