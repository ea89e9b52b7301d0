import Foundation
import JSON
import TestSupport
import Testing

/// `deploy/ferry.service`, checked with systemd's own tools and with system calls of a running Ferry.
@Suite(.blocking, .endsInTime) struct UnitFileTests {
  private static let deploy = Checkout.root.appendingPathComponent("deploy").path
  private let directory = TemporaryDirectory.make("ferry-unit")

  private func run(_ arguments: String...) throws -> (status: Int32, output: String) {
    let result = try ChildProcess.run("/usr/bin/env", arguments)
    return (result.status, result.output)
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: Self.deploy + "/" + name, encoding: .utf8)
  }

  /// The exposure level that systemd computes is at most 1.5.
  @Test func `unit is hardened`() throws {
    let unit = Self.deploy + "/ferry.service"
    let report = try run(
      "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=15", unit)
    #expect(report.status == 0, "\(report.output)")
    #expect(report.output.contains("Overall exposure level"))
  }

  /// The unit names the binary of this build instead of the installed one.
  @Test func `unit passes systemd verification`() throws {
    for name in ["ferry.service", "ferry.socket"] {
      let unit = try text(name).replacing("/usr/bin/ferry", with: FerryProcess.binary)
      try unit.write(toFile: directory + "/" + name, atomically: true, encoding: .utf8)
    }
    let dropIn = directory + "/ferry.service.d"
    try FileManager.default.createDirectory(atPath: dropIn, withIntermediateDirectories: true)
    try text("ferry-stop-worker.conf").replacing("/usr/bin/ferry", with: FerryProcess.binary).write(
      toFile: dropIn + "/stop-worker.conf", atomically: true, encoding: .utf8)
    let report = try run(
      "env", "SYSTEMD_UNIT_PATH=\(directory):", "systemd-analyze", "verify", "--man=no",
      directory + "/ferry.service", directory + "/ferry.socket")
    #expect(report.status == 0 && report.output.isEmpty, "\(report.output)")
  }

  @Test func `commands of the unit exist`() throws {
    let line = try #require(
      text("ferry-stop-worker.conf").split(separator: "\n").first { $0.hasPrefix("ExecStop=") })
    let words = line.split(separator: " ").dropFirst().map(String.init)
    // Without a service the status is 3, which systemd ignores because of the minus sign.
    #expect(line.hasPrefix("ExecStop=-/usr/bin/ferry stop "))
    #expect(try FerryCommand.run(words + ["--data-directory", directory]).status == 3)
    #expect(try text("ferry.service").contains("ExecStart=/usr/bin/ferry serve\n"))
  }

  /// Returns the system calls of a group, nested groups included. A single call is its own group.
  private func calls(_ group: String) throws -> Set<String> {
    guard group.hasPrefix("@") else { return [group] }
    let lines = try run("systemd-analyze", "syscall-filter", "--no-pager", group).output.split(
      separator: "\n")
    let names = lines.dropFirst().map { $0.drop(while: \.isWhitespace) }.filter { !$0.hasPrefix("#") }
    return try names.reduce(into: []) { calls, name in
      if name.hasPrefix("@") {
        calls.formUnion(try self.calls(String(name)))
      } else {
        calls.insert(String(name))
      }
    }
  }

  /// Returns the system calls that the unit allows. Its lines add and remove groups in order (systemd.exec(5)).
  private func allowed() throws -> Set<String> {
    var allowed = try calls("@default")
    for line in try text("ferry.service").split(separator: "\n") where line.hasPrefix("SystemCallFilter=") {
      let list = line.dropFirst("SystemCallFilter=".count)
      let groups = try list.drop { $0 == "~" }.split(separator: " ").map { try calls(String($0)) }
      for group in groups {
        if list.hasPrefix("~") { allowed.subtract(group) } else { allowed.formUnion(group) }
      }
    }
    return allowed
  }

  /// The test runs every kind of work of a service and its worker.
  @Test func `unit allows each system call of Ferry`() throws {
    let file = directory + "/calls"
    let wrapper = ["strace", "-D", "-f", "-qq", "-s", "0", "-e", "signal=none", "-o", file]
    let nginx = try NginxServer(files: ["hello.txt": 5000, "large": 3_000_000])
    let ferry = try FerryProcess(options: ["--ca-file", nginx.authorityFile], wrapper: wrapper)
    let sessions = try [
      ferry.session(), ferry.session(#"{"httpShouldUsePipelining":true}"#),
      ferry.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id,
    ]
    for session in sessions {
      for name in ["/hello.txt", "/large"] {
        #expect(try ferry.run(nginx.url(.good, name), session: session)["error"] == .null)
      }
    }
    let fields = [("Content-Type", "text/plain")]
    let stored = try ferry.client().send("POST", "/v1/files", Pattern.bytes(300_000), fields).json.id
    let body = #","method":"PUT","body":{"file":"\#(stored)"}"#
    let url = nginx.url(.plain, "/put/name")
    #expect(try ferry.run(url, kind: "upload", request: body)["error"] == .null)
    let hook = #"{"webhook":{"url":"\#(nginx.url(.good, "/hook"))"}}"#
    let task = #"{"kind":"data","resume":true,"request":{"url":"\#(url)"},"completion":\#(hook)}"#
    #expect(try ferry.call("POST", "/v1/sessions/ses_shared/tasks", task).status == 201)
    #expect(try ferry.call("POST", "/v1/reachability", #"{"url":"https://localhost:1/"}"#).status == 200)
    let background = try ferry.background("a").json.id
    #expect(try ferry.runInBackground(nginx.url(.good, "/large"), session: background)["error"] == .null)
    // With `-D`, strace is not the parent, so the process id is the service's own.
    ferry.signal(SIGHUP)
    #expect(ferry.hasLogged("read tokens and certificate authorities again"))
    #expect(try FerryCommand.run(["stop", "--worker", "--data-directory", ferry.directory]).status == 0)
    let (names, lines) = try Self.calls(in: file)
    let allowed = try allowed()
    #expect(names.contains("memfd_create") && names.contains("epoll_wait") && names.contains("accept4"))
    // As root, SQLite gives its files to the owner of the database (`robustFchown`). The unit's user is not root.
    let ofRoot: Set<String> = geteuid() == 0 ? ["fchown"] : []
    #expect(names.subtracting(allowed).subtracting(ofRoot).isEmpty)
    // For `MemoryDenyWriteExecute`.
    let executable = lines.filter {
      $0.contains("PROT_EXEC") && ($0.contains("PROT_WRITE") || $0.contains("mprotect("))
    }
    #expect(executable.isEmpty)
    // For `RestrictAddressFamilies`.
    let families = Set(
      lines.filter { $0.contains(" socket(") }.compactMap {
        $0.split(separator: "(").last?.split(separator: ",").first.map(String.init)
      })
    #expect(families.isSubset(of: ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"]), "\(families)")
    #expect(families.contains("AF_NETLINK"))
  }

  /// libdispatch tries to raise priorities, and logs each refusal for an unprivileged user.
  @Test func `no thread raises its priority`() throws {
    let file = directory + "/priorities"
    let place = TemporaryDirectory.make("ferry-priorities")
    FerryCommand.giveToNobody(place)
    let wrapper = [
      "strace", "-D", "-f", "-e", "trace=setpriority,exit_group", "-e", "signal=none", "-o", file,
    ]
    let ferry = try FerryProcess(directory: place, wrapper: wrapper + FerryCommand.asNobody)
    #expect(try ferry.call("POST", "/v1/sessions", "{}").status == 201)
    #expect(try ferry.call("GET", "/v1/sessions").status == 200)
    #expect(ferry.terminate() == 0)
    let (names, lines) = try Self.calls(in: file)
    #expect(names.contains("exit_group"))
    #expect(lines.filter { $0.contains("setpriority(") && ($0.contains(", -") || $0.contains("= -1")) } == [])
  }

  /// Returns the names of all calls after the processes have ended.
  private static func calls(in file: String) throws -> (names: Set<String>, lines: [String]) {
    func lines() -> [String] {
      let data = FileManager.default.contents(atPath: file) ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
    Patience.wait { lines().last?.contains("+++ exited") != true }
    let all = lines()
    let names = all.compactMap { line -> String? in
      let call = line.drop { $0.isNumber || $0 == " " }
      // strace writes "???" if a thread ended before its call could be read.
      guard let end = call.firstIndex(of: "("), !call.hasPrefix("<"), !call.hasPrefix("???") else {
        return nil
      }
      return String(call[..<end])
    }
    return (Set(names), all)
  }
}
