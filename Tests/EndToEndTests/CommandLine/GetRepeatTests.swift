import Foundation
import TestSupport
import Testing

/// A later `ferry get` for the same directory with other options, and services that end or answer wrongly.
@Suite(.blocking, .endsInTime) struct GetRepeatTests {
  private let client = ClientFixture()
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/missing": try socket.write(TestOrigin.reply("404 Not Found", Array("no".utf8)))
    case "/private" where request["Authorization"] != "Basic YWxpY2U6cEBzcw==":
      try socket.write(TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"x\"")]))
    case "/slow":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbegin")
      _ = try socket.readSome()
      return false
    default: try socket.write(TestOrigin.reply("200 OK", Array("body\n".utf8)))
    }
    return true
  }
  private static let wrong = String(repeating: "0", count: 64)

  @Test func `digest of a later command is checked`() throws {
    // The failed file keeps the state.
    #expect(try client.get("\(origin.url)/a", "\(origin.url)/missing").status == 4)
    let repeated = try client.get("--sha256", Self.wrong, "\(origin.url)/a")
    #expect(repeated.status == 5 && repeated.output.contains("has the SHA-256 digest"), "\(repeated.output)")
    #expect(client.files == ["a"])
    try FileManager.default.removeItem(atPath: client.directory + "/a")
    #expect(try client.get("--sha256", Self.wrong, "\(origin.url)/a").status == 5)
    #expect(client.files.isEmpty)
    #expect(try client.get("\(origin.url)/a").status == 0 && client.files == ["a"])
  }

  @Test(arguments: [false, true]) func `failed file gets the options of a later command`(
    ofRunningService: Bool
  ) throws {
    let service = try ofRunningService ? FerryProcess() : nil
    let client = ClientFixture(server: service)
    let urls = ["\(origin.url)/a", "\(origin.url)/private"]
    #expect(try client.get("-u", "alice:wrong", urls[1]).status == 4)
    #expect(try client.get("-u", "alice:wrong", urls[0], urls[1]).status == 4)
    let repeated = try client.get("-u", "alice:p@ss", urls[0], urls[1])
    #expect(repeated.status == 0 && client.files == ["a", "private"], "\(repeated.output)")
    #expect(origin.requests.count { $0.path == "/a" } == 1 && client.states.isEmpty)
  }

  @Test func `failed commands without a file leave no state`() throws {
    #expect(try client.get("\(origin.url)/missing").status == 4)
    #expect(try client.get("ftp://a.test/b").status == 64)
    #expect(client.states.isEmpty && client.services.isEmpty)
  }

  @Test(arguments: [SIGKILL, SIGTERM]) func `end of its service ends the command`(_ signal: Int32) throws {
    let command = try client.start("\(origin.url)/slow")
    Patience.wait { origin.requests.isEmpty }
    for pid in client.services { kill(pid, signal) }
    #expect(command.terminationStatus == 2)
    #expect(client.services.isEmpty && client.states.count == 1)
  }

  @Test func `end of a terminal suspends the downloads`() throws {
    let command = try client.start("\(origin.url)/slow")
    Patience.wait { origin.requests.isEmpty }
    command.send(SIGHUP)
    #expect(command.terminationStatus == 130 && client.services.isEmpty)
  }

  @Test func `list comes from a pipe`() throws {
    let script = #"printf "$1/a\n$1/b\n" | "$0" get --allow-network 127.0.0.0/8 -i -"#
    let result = try ChildProcess.run(
      "/bin/sh", ["-c", script, FerryProcess.binary, origin.url],
      environment: ChildProcess.environment(with: client.environment), directory: client.directory,
      patience: Patience.seconds)
    #expect(result.status == 0 && client.files == ["a", "b"], "\(result.output)")
    let missing = try client.get("-i", "absent")
    #expect(missing.status == 3 && missing.output.contains("absent cannot be read: No such file"))
  }

  @Test func `output may be on another file system, or a pipe`() throws {
    let other = "/dev/shm/ferry-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: other) }
    let placed = try client.get("-o", other + "/file", "\(origin.url)/a")
    #expect(placed.status == 0, "\(placed.output)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: other) == ["file"])
    #expect(mkfifo(client.directory + "/pipe", 0o600) == 0)
    let reader = try ChildProcess(
      "/bin/sh", ["-c", "cat pipe > copy"], directory: client.directory, output: .nothing, error: .nothing)
    #expect(try client.get("-o", "pipe", "\(origin.url)/a").status == 0)
    #expect(reader.terminationStatus == 0 && client.bytes("copy") == Array("body\n".utf8))
    for (name, text) in [(".", "is a directory"), ("absent/file", "cannot be written")] {
      let count = origin.requests.count
      let result = try client.get("-o", name, "\(origin.url)/b")
      #expect(result.status == 3 && result.output.contains(text), "\(result.output)")
      #expect(origin.requests.count == count)
    }
  }

  @Test(arguments: [
    String(repeating: "[", count: 100_000), String(repeating: #"{"a":"#, count: 100_000), "[]", "null",
    #"{"items":"x"}"#,
  ])
  func `reply that is no list is an error`(_ body: String) throws {
    let server = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array(body.utf8), [("Content-Type", "application/json")]))
      return true
    }
    let result = try client.run("ls", "--server", server.url)
    #expect(result.status == 2 && result.output.hasPrefix("ferry: the reply is"), "\(result.output)")
  }

  @Test func `redirect of a service is an error`() throws {
    let server = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", "https://a.test/")]))
      return true
    }
    let result = try client.run("ls", "--server", server.url)
    #expect(result.status == 2 && result.output.contains("the status 302"), "\(result.output)")
  }

  @Test func `command does not say that it has changed an ended task`() throws {
    let service = try FerryProcess()
    let client = ClientFixture(server: service)
    let task = try service.create(origin.url)
    _ = try service.end(of: task)
    for verb in ["cancel", "suspend", "resume"] {
      let result = try client.run(verb, task)
      #expect(result.output == "ferry: \(task) has already ended: succeeded\n", "\(result.output)")
    }
  }

  @Test func `name that is not UTF-8 is refused`() throws {
    let script = #""$0" get --allow-network 127.0.0.0/8 -o "$(printf 'a\377')" "$1/a""#
    let result = try ChildProcess.run(
      "/bin/sh", ["-c", script, FerryProcess.binary, origin.url],
      environment: ChildProcess.environment(with: client.environment), directory: client.directory,
      patience: Patience.seconds)
    #expect(result.status == 64 && result.output.contains("is not UTF-8 text") && client.files.isEmpty)
  }
}
