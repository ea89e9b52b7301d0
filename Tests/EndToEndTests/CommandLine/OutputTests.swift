import Foundation
import TestSupport
import Testing

/// Standard output that cannot be written, and standard output that is a terminal.
@Suite(.blocking, .endsInTime) struct OutputTests {
  private static let full = "ferry: standard output cannot be written: No space left on device\n"
  private let service: FerryProcess
  private let client: ClientFixture
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("body\n".utf8)))
    return true
  }
  private let task: String

  init() throws {
    service = try FerryProcess()
    client = ClientFixture(server: service)
    task = try service.create(origin.url + "/a.txt")
    _ = try service.end(of: task)
  }

  /// The commands whose result is their output.
  private var commands: [[String]] {
    [
      ["cat", task], ["ls"], ["ls", "--json"], ["show", task], ["watch", task], ["hooks", "ls"],
      ["events", "--after", "0", "--count", "1"], ["retry", "--failed", "--dry-run"],
      ["context", "ls"], ["get", "--detach", origin.url + "/b"], ["config"], ["--help"], ["--version"],
      ["get", "--help"], ["--generate-completion-script", "bash"],
      ["health", "--listen", "127.0.0.1:\(service.port)"], ["stop", "--data-directory", client.directory],
    ]
  }

  /// Runs a command with an output, and returns the text of standard error with the exit status as its last line.
  private func run(_ arguments: [String], output: ChildProcess.Stream) throws -> String {
    let errors = Pipe()
    let child = try ChildProcess(
      "/bin/sh", ["-c", #""$0" "$@"; echo $? >&2"#, FerryProcess.binary] + arguments,
      environment: ChildProcess.environment(with: client.environment), directory: client.directory,
      output: output, error: .pipe(errors))
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    child.waitUntilExit()
    return text
  }

  @Test func `full disk is an error of each command`() throws {
    for arguments in commands {
      let disk = try #require(FileHandle(forWritingAtPath: "/dev/full"))
      #expect(try run(arguments, output: .file(disk)) == Self.full + "3\n", "\(arguments)")
    }
  }

  @Test func `closed pipe ends each command without a message`() throws {
    for arguments in commands {
      let pipe = Pipe()
      try pipe.fileHandleForReading.close()
      #expect(try run(arguments, output: .pipe(pipe)) == "141\n", "\(arguments)")
    }
  }

  @Test(arguments: [["-o", "-"], ["--json"]]) func `get reports its standard output`(_ form: [String]) throws
  {
    let arguments = ["get"] + form + [origin.url + "/c.txt"]
    let disk = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let text = try run(arguments, output: .file(disk))
    #expect(text.contains("standard output cannot be written: No space left on device"), "\(text)")
    #expect(text.hasSuffix("\n3\n"), "\(text)")
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    #expect(try run(arguments, output: .pipe(pipe)) == "141\n")
  }

  @Test func `only a terminal without NO_COLOR has colours`() throws {
    let green = "\u{1B}[32msucceeded\u{1B}[0m"
    for (variables, hasColors) in [
      ([:], true), (["NO_COLOR": ""], true), (["NO_COLOR": "0"], false), (["TERM": "dumb"], false),
    ] as [([String: String], Bool)] {
      for arguments in [["ls"], ["show", task]] {
        let terminal = try TerminalSession(
          arguments, columns: 120, environment: variables, client)
        #expect(terminal.end() == 0)
        #expect(terminal.text.contains(green) == hasColors, "\(variables): \(terminal.text)")
        #expect(terminal.text.contains("\u{1B}") == hasColors)
      }
      let wrong = try TerminalSession(
        ["show", "12345678"], environment: variables, client)
      #expect(wrong.end() == 6)
      #expect(wrong.text.contains("\u{1B}[31mferry:\u{1B}[0m no task") == hasColors, "\(wrong.text)")
      let piped = try client.run("ls", environment: variables)
      #expect(piped.output.contains("succeeded") && !piped.bytes.contains(0x1B))
    }
  }
}
