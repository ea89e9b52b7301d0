import Crypto
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct GetTests {
  private static let body = Array("the body\n".utf8)

  /// An origin with a status or a body for each path.
  private static func origin() -> TestOrigin {
    let busy = Mutex(0)
    return TestOrigin { request, socket in
      let path = request.path
      if path.hasPrefix("/404") {
        try socket.write(TestOrigin.reply("404 Not Found", Array("no".utf8)))
      } else if path.hasPrefix("/busy"),
        busy.withLock({
          $0 += 1; return $0 == 1
        })
      {
        try socket.write(TestOrigin.reply("503 Service Unavailable", [], [("Retry-After", "0")]))
      } else if path.hasPrefix("/hostile") {
        try socket.write(
          TestOrigin.reply(
            "200 OK", body,
            [("Content-Disposition", "attachment; filename*=UTF-8''..%2F..%2F.ssh%1B%5B2J%0Aauthorized_keys")]
          ))
      } else if path.hasPrefix("/private"), request["Authorization"] != "Basic YWxpY2U6cEBzcw==" {
        try socket.write(
          TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"x\"")]))
      } else {
        try socket.write(TestOrigin.reply("200 OK", body))
      }
      return true
    }
  }

  @Test func `files get their names and the state is deleted at the end`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let result = try client.get("\(origin.url)/a.txt", "\(origin.url)/b/c.txt", "\(origin.url)/busy.txt")
    #expect(result.status == 0, "\(result.output)")
    #expect(client.files == ["a.txt", "busy.txt", "c.txt"] && client.bytes("a.txt") == Self.body)
    #expect(result.output.contains("retry 1/20") && result.output.contains("503 Service Unavailable"))
    #expect(client.states.isEmpty && client.services.isEmpty)
  }

  @Test func `existing file keeps its name`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    for names in [["a.txt"], ["a (1).txt", "a.txt"]] {
      #expect(try client.get("\(origin.url)/a.txt").status == 0)
      #expect(client.files == names)
    }
    #expect(try client.get("-o", "a.txt", "\(origin.url)/other").status == 0)
    #expect(client.files == ["a (1).txt", "a.txt"])
  }

  @Test func `hostile name stays in the directory and shows no control characters`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let result = try client.get("\(origin.url)/hostile")
    #expect(result.status == 0, "\(result.output)")
    #expect(client.files.count == 1)
    let name = client.files.first ?? ""
    #expect(!name.hasPrefix(".") && name.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    #expect(!result.bytes.contains(0x1B))
  }

  @Test func `standard output has the body alone`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let result = try client.get("--quiet", "-o", "-", "\(origin.url)/a.txt")
    #expect(result.status == 0 && result.bytes == Self.body && client.files.isEmpty)
  }

  @Test func `directory below a file is an error with the reason`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let path = client.directory + "/file"
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let result = try client.get("--directory", path + "/x", origin.url + "/a")
    #expect(
      result.status == 3 && result.output.contains("/x cannot be created: Not a directory"),
      "\(result.output)")
  }

  @Test func `list and directory and user are options`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let list = client.state + "/list"
    try "# files\n\(origin.url)/1.txt\n\n\(origin.url)/private/2.txt\n".write(
      toFile: list, atomically: true, encoding: .utf8)
    let result = try client.get(
      "-i", list, "-P", "sub/dir", "-j", "1", "--user", "alice:p@ss", "-H", "X-A: b")
    #expect(result.status == 0, "\(result.output)")
    #expect(client.bytes("sub/dir/1.txt") == Self.body && client.bytes("sub/dir/2.txt") == Self.body)
    #expect(origin.requests.allSatisfy { $0["X-A"] == "b" })
    #expect(!result.output.contains("p@ss"))
  }

  @Test func `JSON has one object for each file and a summary`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let result = try client.get("--json", "\(origin.url)/a.txt", "\(origin.url)/404")
    let objects = result.objects
    #expect(result.status == 4 && objects.count == 3)
    let done = objects.first { $0["event"]?.string == "done" }
    #expect(done?["size"]?.integer == Int64(Self.body.count) && done?["url"]?.string == "\(origin.url)/a.txt")
    let failed = objects.first { $0["event"]?.string == "failed" }
    #expect(failed?["cause"]?.string == "status" && failed?["message"]?.string == "404 Not Found")
    #expect(objects.last?["event"]?.string == "summary" && objects.last?["failed"]?.integer == 1)
  }

  // MARK: Exit statuses

  @Test func `exit status names the cause`() throws {
    let (client, origin) = (ClientFixture(), Self.origin())
    let slow = TestOrigin { _, socket in
      _ = try socket.readSome()
      return false
    }
    let wrong = String(repeating: "0", count: 64)
    let right = SHA256.hash(data: Self.body).map { String(format: "%02x", $0) }.joined()
    func status(_ arguments: String...) throws -> Int32 {
      let result = try ChildProcess.run(
        FerryProcess.binary, ["get", "--allow-network", "127.0.0.0/8"] + arguments,
        environment: ChildProcess.environment(with: client.environment), directory: client.directory,
        patience: 120)
      return result.status
    }
    #expect(try status("--sha256", right, "\(origin.url)/a.txt") == 0)
    #expect(try status("--tries", "1", "http://127.0.0.1:1/x") == 1)
    #expect(try status("--server", "http://127.0.0.1:1", "\(origin.url)/x") == 2)
    #expect(try status("-o", "missing/file", "\(origin.url)/x") == 3)
    #expect(try status("\(origin.url)/404") == 4)
    #expect(try status("--sha256", wrong, "\(origin.url)/b.txt") == 5)
    #expect(try status("http://169.254.169.254/latest") == 6)
    #expect(try status("--timeout", "1", "--tries", "1", "\(slow.url)/x") == 7)
    #expect(try status("--tries", "0", "\(origin.url)/x") == 64)
    #expect(try status() == 64)
    #expect(try status("--sha256", "xyz", "\(origin.url)/x") == 64)
    #expect(try status("--context", "missing", "\(origin.url)/x") == 78)
    #expect(client.files == ["a.txt"])
  }

  // MARK: Continuation

  /// An origin whose files arrive slowly until `isFast`.
  private final class SlowFiles: Sendable {
    let isFast = Mutex(false)
    static let size = 400_000
    func make() -> TestOrigin {
      TestOrigin { [self] request, socket in
        guard request.path.hasPrefix("/slow") else {
          try socket.write(TestOrigin.reply("200 OK", GetTests.body))
          return true
        }
        let bytes = [UInt8](repeating: 7, count: Self.size)
        let start = request["Range"].flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
        let head =
          start > 0
          ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(start)-\(Self.size - 1)/\(Self.size)\r\n"
          : "HTTP/1.1 200 OK\r\n"
        try socket.write(
          Array(
            (head + "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\nContent-Length: \(Self.size - start)\r\n\r\n")
              .utf8))
        let first = isFast.withLock { $0 } ? Self.size - start : 100_000
        try socket.write(Array(bytes[start..<start + first]))
        // The rest never arrives.
        guard first < Self.size - start else { return true }
        _ = try socket.readSome()
        return false
      }
    }
  }

  private func waitFor(_ condition: () -> Bool) {
    Patience.wait { !condition() }
    #expect(condition())
  }

  @Test(arguments: [SIGINT, SIGKILL])
  func `same command continues after the end of the command and its service`(signal: Int32) throws {
    let (client, files) = (ClientFixture(), SlowFiles())
    let origin = files.make()
    let urls = (1...5).map { "\(origin.url)/\($0).txt" } + ["\(origin.url)/slow.bin"]
    let arguments = ["get", "--allow-network", "127.0.0.0/8"] + urls
    let environment = ChildProcess.environment(with: client.environment)
    let first = try ChildProcess(
      FerryProcess.binary, arguments, environment: environment, directory: client.directory, output: .nothing,
      error: .nothing)
    waitFor { client.files.filter { $0.hasSuffix(".txt") }.count == 5 && origin.requests.count == 6 }
    first.send(signal)
    if signal == SIGKILL {
      first.waitUntilExit()
      for pid in client.services { kill(pid, SIGKILL) }
      waitFor { client.services.isEmpty }
    } else {
      #expect(first.terminationStatus == 130)
    }
    #expect(client.services.isEmpty && client.bytes("slow.bin") == nil)
    files.isFast.withLock { $0 = true }
    let second = try ChildProcess.run(
      FerryProcess.binary, arguments, environment: environment, directory: client.directory, patience: 120)
    #expect(second.status == 0, "\(second.output)")
    #expect(client.bytes("slow.bin") == [UInt8](repeating: 7, count: SlowFiles.size))
    for number in 1...5 {
      #expect(origin.requests.count { $0.path == "/\(number).txt" } == 1)
    }
    #expect(client.files.count == 6 && client.states.isEmpty)
  }

  @Test func `killed command leaves its service which the same command uses`() throws {
    let (client, files) = (ClientFixture(), SlowFiles())
    let origin = files.make()
    let first = try client.start("\(origin.url)/a.txt", "\(origin.url)/slow.bin")
    waitFor { client.files == ["a.txt"] && origin.requests.count == 2 }
    // A second command for the same directory would disturb the first.
    let other = try client.get("\(origin.url)/b.txt")
    #expect(other.status == 3 && other.output.contains("another `ferry get`"))
    first.send(SIGKILL)
    first.waitUntilExit()
    let service = client.services
    #expect(service.count == 1)
    files.isFast.withLock { $0 = true }
    let second = try client.start("\(origin.url)/a.txt", "\(origin.url)/slow.bin")
    let state = "\(client.state)/ferry/\(client.states[0])"
    // The command handles signals before it locks the state.
    waitFor {
      (try? String(contentsOfFile: state + "/lock", encoding: .utf8))?.contains("\(second.processIdentifier)")
        == true
    }
    second.send(SIGINT)
    #expect(second.terminationStatus == 130 && client.services.isEmpty)
    let log = try String(contentsOfFile: state + "/service.log", encoding: .utf8)
    #expect(log.components(separatedBy: "\"listening\"").count == 2, "\(log)")
    let third = try client.get("\(origin.url)/a.txt", "\(origin.url)/slow.bin")
    #expect(third.status == 0, "\(third.output)")
    #expect(client.files == ["a.txt", "slow.bin"] && origin.requests.count { $0.path == "/a.txt" } == 1)
  }

  @Test func `interrupted command suspends the tasks of a running service`() throws {
    let service = try FerryProcess()
    let (client, files) = (ClientFixture(server: service), SlowFiles())
    let origin = files.make()
    let urls = ["\(origin.url)/a.txt", "\(origin.url)/slow.bin"]
    let environment = ChildProcess.environment(with: client.environment)
    let first = try ChildProcess(
      FerryProcess.binary, ["get"] + urls, environment: environment, directory: client.directory,
      output: .nothing, error: .nothing)
    waitFor { client.files == ["a.txt"] && origin.requests.count == 2 }
    first.send(SIGINT)
    #expect(first.terminationStatus == 130)
    let suspended = try service.call("GET", "/v1/tasks?state=suspended").json["items"]?.elements ?? []
    #expect(suspended.count == 1)
    files.isFast.withLock { $0 = true }
    let second = try ChildProcess.run(
      FerryProcess.binary, ["get"] + urls, environment: environment, directory: client.directory,
      patience: 120)
    #expect(second.status == 0, "\(second.output)")
    #expect(client.bytes("slow.bin")?.count == SlowFiles.size && client.states.isEmpty)
    #expect(origin.requests.count { $0.path == "/a.txt" } == 1)
    #expect(try service.task(suspended.first?.id ?? "")["outcome"]?.string == "succeeded")
  }

  @Test func `running service keeps the tasks`() throws {
    let service = try FerryProcess()
    let (client, origin) = (ClientFixture(server: service), Self.origin())
    let result = try client.get("--label", "batch=7", "\(origin.url)/a.txt")
    #expect(result.status == 0 && client.files == ["a.txt"], "\(result.output)")
    let tasks = try service.call("GET", "/v1/tasks?label=batch:7").json["items"]?.elements ?? []
    #expect(tasks.count == 1 && tasks.first?["outcome"]?.string == "succeeded")
    let detached = try client.get("--detach", "\(origin.url)/b.txt")
    let id = detached.output.split(separator: "\n").first.map(String.init) ?? ""
    #expect(detached.status == 0 && id.hasPrefix("tsk_") && client.files == ["a.txt"])
    #expect(try service.end(of: id)["outcome"]?.string == "succeeded")
  }
}
