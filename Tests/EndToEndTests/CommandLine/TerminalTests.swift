import Foundation
import JSON
import TestSupport
import Testing

/// Commands on a terminal.
@Suite(.blocking, .endsInTime) struct TerminalTests {
  @Test func `credentials are asked without echo`() throws {
    let service = try FerryProcess()
    let client = ClientFixture(server: service)
    let origin = TestOrigin { request, socket in
      let isGranted = request["Authorization"] == "Basic YWxpY2U6d29uZGVybGFuZA=="
      try socket.write(
        isGranted
          ? TestOrigin.reply("200 OK", Array("in".utf8))
          : TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"the \u{7} club\"")])
      )
      return true
    }
    let session = try service.call(
      "POST", "/v1/sessions", #"{"delegate":{"taskChallenges":"ask","decisionTimeout":600}}"#
    ).json.id
    let id = try service.create(origin.url + "/door", session: session)
    _ = try service.poll("/v1/sessions/\(session)/decisions?state=pending") { $0["items"]?.elementCount == 1 }
    let list = try client.run("answer", "--list")
    #expect(list.status == 0 && list.output.contains("HTTPBasic") && !list.bytes.contains(7))
    let terminal = try TerminalSession(["answer"], client)
    #expect(terminal.expect("User"))
    terminal.type("alice")
    #expect(terminal.expect("Password: "))
    usleep(100_000)
    terminal.type("wonderland")
    #expect(terminal.expect("answered dec_"))
    #expect(terminal.end() == 0)
    #expect(!terminal.text.contains("wonderland"))
    #expect(try service.end(of: id)["response"]?["status"]?.integer == 200)
    #expect(try client.run("answer").output == "no decision is pending\n")
  }

  /// An origin whose body takes a second, so that bars are drawn.
  private static func slowOrigin() -> TestOrigin {
    TestOrigin { _, socket in
      try socket.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n".utf8))
      for _ in 0..<4 {
        try socket.write([UInt8](repeating: 1, count: 100_000))
        usleep(300_000)
      }
      return true
    }
  }

  @Test func `terminal without a movable cursor gets lines instead of bars`() throws {
    let (client, origin) = (ClientFixture(), Self.slowOrigin())
    let terminal = try TerminalSession(
      ["get", "--allow-network", "127.0.0.0/8", "\(origin.url)/a.bin"], environment: ["TERM": "dumb"], client)
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("saved a.bin") && !terminal.text.contains("\u{1B}"), "\(terminal.text)")
    let service = try FerryProcess()
    let top = try TerminalSession(["top"], environment: ["TERM": "dumb"], ClientFixture(server: service))
    #expect(top.end() == 64 && top.text.contains("movable cursor"), "\(top.text)")
  }

  @Test(arguments: [30, 60, 120])
  func `terminal shows bars of its width`(columns: Int) throws {
    let client = ClientFixture()
    let origin = Self.slowOrigin()
    let urls = ["a.bin", "b.bin"].map { "\(origin.url)/\($0)" }
    let terminal = try TerminalSession(
      ["get", "--allow-network", "127.0.0.0/8"] + urls, columns: columns, client)
    #expect(terminal.end() == 0)
    let plain = terminal.plain
    #expect(plain.contains("%") && plain.contains("2 files"))
    #expect(plain.contains("saved a.bin") && plain.contains("saved b.bin"))
    #expect(terminal.text.contains("\u{1B}[32msaved\u{1B}[0m a.bin"))
    #expect((columns >= 60) == plain.contains("[#"))
    for visible in plain.split(whereSeparator: \.isNewline) {
      #expect(visible.count < columns || visible.hasPrefix("saved"), "\(visible)")
    }
  }
}

extension TerminalTests {
  @Test(arguments: [("yes", 200), ("no", 302)])
  func `redirect is followed as answered`(answer: String, status: Int64) throws {
    let service = try FerryProcess()
    let client = ClientFixture(server: service)
    let origin = TestOrigin { request, socket in
      try socket.write(
        request.path == "/from"
          ? TestOrigin.reply("302 Found", [], [("Location", "/to")])
          : TestOrigin.reply("200 OK", Array(request.path.utf8)))
      return true
    }
    let session = try service.call(
      "POST", "/v1/sessions", #"{"delegate":{"redirects":"ask","decisionTimeout":600}}"#
    ).json.id
    let id = try service.create(origin.url + "/from", session: session)
    _ = try service.poll("/v1/sessions/\(session)/decisions?state=pending") { $0["items"]?.elementCount == 1 }
    let terminal = try TerminalSession(["answer"], columns: 120, client)
    #expect(terminal.expect("302 Found redirects to GET \(origin.url)/to"))
    #expect(terminal.expect("[yes/no]"))
    terminal.type(answer)
    #expect(terminal.end() == 0)
    #expect(try service.end(of: id).status == status)
  }

  @Test func `top shows tasks and gives the terminal back`() throws {
    let service = try FerryProcess()
    let client = ClientFixture(server: service)
    let id = try service.create("http://127.0.0.1:1/x", resume: false)
    let terminal = try TerminalSession(["top"], columns: 100, client)
    #expect(terminal.expect(String(id.suffix(8))))
    terminal.type("x")
    #expect(terminal.expect("cancelled"))
    terminal.type("q")
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("\u{1B}[?1049h") && terminal.text.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
    let unattended = try client.run("top")
    #expect(unattended.status == 64 && unattended.output.contains("ferry ls"))
  }
}
