import Crypto
import Foundation
import TestSupport
import Testing

/// docs/command-line.md: each command of its `sh` blocks succeeds, and each command of the client is on the page.
@Suite(.blocking, .endsInTime) struct CommandLinePageTests {
  /// Commands that run or maintain a service, which other pages describe.
  private static let ofService: Set = [
    "serve", "worker", "config", "stop", "health", "rotate-key", "help", "token", "tenant", "doctor",
    "backup",
    "restore", "verify", "migrate",
  ]
  private let page: String

  init() throws {
    page = try String(contentsOf: Checkout.root.appending(path: "docs/command-line.md"), encoding: .utf8)
  }

  private var commands: [String] {
    page.components(separatedBy: "```sh\n").dropFirst().flatMap { block in
      block.components(separatedBy: "```")[0].split(separator: "\n").map(String.init)
    }
  }

  @Test func `each command of the page succeeds`() throws {
    let service = try FerryProcess()
    let client = ClientFixture(server: service)
    let body = Array("a file\n".utf8)
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", body))
      return true
    }
    let url = origin.url + "/file.txt"
    for (name, text) in [("list.txt", "\(url)?1\n\(url)?2\n"), ("notes.txt", "notes\n")] {
      try text.write(toFile: client.directory + "/" + name, atomically: true, encoding: .utf8)
    }
    #expect(commands.count > 25)
    for command in commands {
      let task = try service.create(url)
      _ = try service.end(of: task)
      let place = URL(fileURLWithPath: FerryProcess.binary).deletingLastPathComponent().path
      let variables = [
        "URL": url, "UPLOAD_URL": origin.url + "/in", "TASK": task, "PATH": place + ":/usr/bin:/bin",
        "SHA256": SHA256.hash(data: body).map { String(format: "%02x", $0) }.joined(),
      ]
      let result = try ChildProcess.run(
        "/bin/sh", ["-ec", command],
        environment: ChildProcess.environment(with: client.environment.merging(variables) { $1 }),
        directory: client.directory, patience: 60)
      #expect(result.status == 0, "\(command): \(result.output)")
    }
  }

  @Test func `page has each command of the client`() throws {
    let help = try FerryCommand.run(["--help"]).output
    let list = try #require(
      help.components(separatedBy: "SUBCOMMANDS:\n").last?.components(separatedBy: "\n\n").first)
    let names = list.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
      .compactMap { $0.split(separator: " ").first.map(String.init) }
    #expect(names.contains("get"))
    for name in names where !Self.ofService.contains(name) {
      #expect(page.contains("ferry \(name)"), "docs/command-line.md lacks `ferry \(name)`")
    }
  }
}
