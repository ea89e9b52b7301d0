import Foundation
import TestSupport
import Testing

/// Every program of `examples` with a service that requires a token.
@Suite(.serialized, .blocking, .endsInTime) struct ExampleProgramTests {
  /// A run of a program. `ORIGIN` and `HOOK` in arguments stand for the URLs of an origin and a receiver.
  struct Run: CustomTestStringConvertible {
    let name: String
    var arguments: [String] = []
    var environment: [String: String] = [:]
    /// The text of the file `list` in the working directory.
    var list: String?
    var status: Int32 = 0
    /// A text that the output contains.
    let output: String
    /// The files that the run makes, by path.
    var files: [String: String] = [:]

    var testDescription: String { ([name] + arguments).joined(separator: " ") }
  }

  private static let runs = [
    Run(name: "import_url", arguments: ["ORIGIN/file", "HOOK"], output: "tsk_"),
    Run(name: "import_url", arguments: ["ORIGIN/missing", "HOOK"], output: "tsk_"),
    Run(name: "import_url", arguments: ["nowhere", "HOOK"], status: 1, output: "/request/url: "),
    Run(
      name: "mirror_list", arguments: ["list", "mirror"], list: "ORIGIN/files/a\nORIGIN/files/b?c\n",
      output: "2 of 2 files", files: ["mirror/a": "for the clients", "mirror/b": "for the clients"]),
    Run(
      name: "mirror_list", arguments: ["list", "mirror"], list: "ORIGIN/files/a\nORIGIN/missing\n", status: 1,
      output: "status 404", files: ["mirror/a": "for the clients"]),
    Run(
      name: "mirror_list", arguments: ["list", "mirror"], list: "nowhere\n", status: 1,
      output: "absolute http or https URL"),
    Run(
      name: "mirror_list", arguments: ["list", "mirror"], list: "ORIGIN/files/a\nORIGIN/a\n", status: 1,
      output: "several URLs have these names: a"),
    Run(name: "upload_file", arguments: ["list", "ORIGIN/"], list: "content", output: "7 bytes sent"),
    Run(
      name: "upload_file", arguments: ["list", "ORIGIN/refused"], list: "content", status: 1,
      output: "status 403"),
    Run(
      name: "answer_challenge", arguments: ["ORIGIN/private", "private"],
      output: "127.0.0.1 asks for a password", files: ["private": "private"]),
    Run(
      name: "answer_challenge", arguments: ["ORIGIN/private", "private"],
      environment: ["ORIGIN_PASSWORD": "guess"], status: 1, output: "cancelled"),
    Run(
      name: "upload_file", arguments: ["list", "ORIGIN/"], environment: ["FERRY_TOKEN": "another"],
      list: "content", status: 1, output: "A valid token is needed"),
  ]

  @Test(arguments: ExampleProgram.Language.allCases, runs)
  func `example does its work`(_ language: ExampleProgram.Language, _ run: Run) throws {
    let (ferry, environment) = try service()
    let origin = try ClientPackages.origin()
    let needsHook = run.arguments.contains("HOOK")
    let hook = try needsHook ? ExampleProgram(language: language, name: "receive_webhooks").server() : nil
    func filled(_ text: String) -> String {
      text.replacingOccurrences(of: "ORIGIN", with: "http://127.0.0.1:\(origin.ports[0])")
        .replacingOccurrences(of: "HOOK", with: "http://127.0.0.1:\(hook?.ports[0] ?? 0)/")
    }
    let directory = TemporaryDirectory.make("example")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    if let list = run.list {
      try filled(list).write(toFile: directory + "/list", atomically: false, encoding: .utf8)
    }
    let result = try ExampleProgram(language: language, name: run.name)
      .run(
        run.arguments.map(filled), environment: environment.merging(run.environment) { $1 }, in: directory)
    #expect(result.status == run.status && result.output.contains(run.output), "\(result.output)")
    let paths = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
    let files = paths.filter { FileManager.default.contents(atPath: directory + "/" + $0) != nil }
    #expect(Set(files) == Set(run.files.keys).union(run.list == nil ? [] : ["list"]), "\(files)")
    for (path, content) in run.files {
      #expect(FileManager.default.contents(atPath: directory + "/" + path) == Data(content.utf8))
    }
    if run.name == "import_url", run.status == 0 {
      let task = result.output.trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(hook?.wait(for: "task.didComplete \(task)", in: "output.log") != nil)
    }
    withExtendedLifetime((ferry, origin, hook)) {}
  }

  @Test(
    arguments: ExampleProgram.Language.allCases,
    ["import_url", "mirror_list", "upload_file", "answer_challenge"])
  func `example without arguments prints its usage`(_ language: ExampleProgram.Language, _ name: String)
    throws
  {
    let result = try ExampleProgram(language: language, name: name)
      .run([], environment: [:], in: TemporaryDirectory.make("usage"))
    #expect(result.status != 0 && result.output.contains("usage: "), "\(result.output)")
  }

  /// Returns a service with a token, and the variables of its clients.
  private func service() throws -> (FerryProcess, [String: String]) {
    let tokens = TemporaryDirectory.make("tokens") + "/tokens"
    try "secret\n".write(toFile: tokens, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens)
    let ferry = try FerryProcess(options: ["--token-file", tokens])
    return (ferry, ["FERRY_SERVER": "http://127.0.0.1:\(ferry.port)/", "FERRY_TOKEN": "secret"])
  }
}
