import FerrySettings
import Foundation
import JSON
import TestSupport
import Testing

/// The command line: its options come from the settings catalogue, and `ferry config` prints the effective settings.
@Suite(.serialized, .blocking) struct CommandLineTests {
  private static func command(_ name: String) throws -> [JSONValue] {
    let output = try FerryCommand.run(["--experimental-dump-help"]).output
    let root = try JSONParser.parse(Array(output.utf8))["command"]
    let command = root?["subcommands"]?.elements?.first { $0["commandName"]?.string == name }
    return try #require(command?["arguments"]?.elements)
  }

  private static func argument(_ setting: any AnySetting, in arguments: [JSONValue]) -> JSONValue? {
    arguments.first { argument in
      argument["names"]?.elements?.contains { $0["name"]?.string == setting.name } ?? false
    }
  }

  @Test(arguments: ["serve", "config", "worker"]) func eachSettingHasItsOption(_ command: String) throws {
    let arguments = try Self.command(command)
    for setting in SettingsCatalogue.all {
      let isWanted =
        setting.places.contains(.commandLine) && (command != "worker" || setting.traits.contains(.forWorker))
      let argument = Self.argument(setting, in: arguments)
      #expect((argument != nil) == isWanted, "\(command) \(setting.option)")
      guard let argument else { continue }
      #expect(argument["abstract"]?.string?.hasPrefix(setting.help) == true, "\(setting.name)")
      #expect(
        argument["valueName"]?.string == setting.form.valueName)
      #expect(argument["shouldDisplay"]?.bool == !setting.traits.contains(.hidden))
      if let text = setting.defaultText, setting.form != .flag {
        #expect(argument["abstract"]?.string?.contains("[\(text)") == true, "\(setting.name)")
      }
    }
  }

  @Test func `each option sets the setting of its name`() throws {
    let directory = TemporaryDirectory.make("ferry-options")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try "one\n".write(toFile: directory + "/token", atomically: false, encoding: .utf8)
    try "{}".write(toFile: directory + "/config", atomically: false, encoding: .utf8)
    let texts = [
      "listen": "0.0.0.0:1", "data-directory": "d", "allow-network": "10.0.0.0/8",
      "interface-class": "a=cellular",
      "token-file": directory + "/token", "config": directory + "/config",
      "discretionary-window": "22:00-06:00",
      "discretionary-maximum-load": "1.5", "log-level": "trace",
      "destination-directory": "default=" + directory, "destination-mode": "0600",
    ]
    let settings = SettingsCatalogue.all.filter { $0.places.contains(.commandLine) }
    func text(_ setting: any AnySetting) -> String { texts[setting.name] ?? "7" }
    let options = settings.flatMap { $0.form == .flag ? [$0.option] : [$0.option, text($0)] }
    let result = try FerryCommand.run(["config"] + options)
    #expect(result.status == 0)
    for setting in settings {
      let value = setting.form == .flag ? "true" : text(setting)
      let line = result.output.split(separator: "\n").first { $0.hasPrefix(setting.name + " ") }
      #expect(
        line?.contains(" \(value) ") == true && line?.hasSuffix(" " + setting.option) == true, "\(line ?? "")"
      )
    }
  }

  @Test func `repeated options form one list`() throws {
    let options = ["--allow-network", "10.0.0.0/8", "--allow-network", "fd00::/8"]
    let result = try FerryCommand.run(["config", "--json"] + options)
    let settings = try JSONParser.parse(Array(result.output.utf8))["settings"]?.elements
    let networks = settings?.first { $0["name"]?.string == "allowNetwork" }
    #expect(networks?["value"] == .array([.string("10.0.0.0/8"), .string("fd00::/8")]))
    #expect(networks?["from"] == .string("--allow-network"))
  }

  /// An operator finds the cause of a refused start with `ferry config`, without a start.
  @Test(
    arguments: [
      (["--transfer-loops", "0"], [:]), (["--listen", "0.0.0.0:0"], [:]), (["--config", "/no/such"], [:]),
      ([], ["FERRY_LISTENS": "1"]), ([], ["FERRY_TOKENS": "a b c"]), (["--nonsense"], [:]),
      (["--token-file", "/no/such"], ["FERRY_TOKENS": "one"]), (["--token-file", "/no/such"], [:]),
    ] as [([String], [String: String])])
  func `config refuses what serve refuses`(_ options: [String], _ environment: [String: String]) throws {
    let serve = try FerryCommand.run(["serve"] + options, environment: environment)
    let config = try FerryCommand.run(["config"] + options, environment: environment)
    #expect(serve.status == config.status && serve.status != 0)
    #expect(
      serve.output.replacing("ferry serve", with: "") == config.output.replacing("ferry config", with: ""))
    #expect(serve.output.split(separator: "\n").count == 1 && serve.output.hasPrefix("ferry: "))
  }

  @Test func `config redacts secrets`() throws {
    for more in [[], ["--json"]] {
      let result = try FerryCommand.run(["config"] + more, environment: ["FERRY_TOKENS": "s3cret-token"])
      #expect(result.status == 0 && result.output.contains("<redacted>") && !result.output.contains("s3cret"))
    }
  }

  @Test(arguments: [["--help"], ["serve", "--help"], ["--version"], ["help", "config"]])
  func `help is no error`(_ arguments: [String]) throws {
    let result = try FerryCommand.run(arguments)
    #expect(result.status == 0 && !result.output.hasPrefix("ferry: "))
  }

  @Test func `listen without a host serves all addresses`() throws {
    let tokens = ["FERRY_TOKENS": "one"]
    let ferry = try FerryProcess(options: ["--listen", ":0"], environment: tokens)
    #expect(ferry.startLog.contains(#/"address":"(\[::\]|0\.0\.0\.0):[0-9]+"/#))
    #expect(try ferry.call("GET", "/livez").status == 200)
    let health = try FerryCommand.run(["health", "--listen", ":\(ferry.port)"])
    #expect(health.status == 0 && health.output.hasPrefix("ok"))
  }

  // MARK: Tokens in the environment

  @Test func `tokens of the environment grant access`() throws {
    let ferry = try FerryProcess(environment: ["FERRY_TOKENS": "one, a two"])
    func status(_ token: String) throws -> Int {
      try ferry.call("GET", "/v1/sessions", nil, [("Authorization", "Bearer " + token)]).status
    }
    #expect(try status("one") == 200 && status("two") == 200 && status("three") == 401)
    #expect(try ferry.call("GET", "/v1/sessions").status == 401)
  }

  /// The worker inherits the environment except the `FERRY_` variables, and an unrelated `FERRY_` variable does not
  /// prevent its start.
  @Test func `worker does not inherit the tokens`() throws {
    let variables = ["FERRY_TOKENS": "s3cret", "FERRY_PORT": "tcp://10.0.0.1:80", "SOMETHING_ELSE": "kept"]
    let ferry = try FerryProcess(environment: variables)
    let body = #"{"type":"background","identifier":"a","delegate":{}}"#
    let reply = try ferry.call("POST", "/v1/sessions", body, [("Authorization", "Bearer s3cret")])
    #expect(reply.status == 201)
    let worker = try ferry.worker.wait()
    for file in ["environ", "cmdline"] {
      let data = try #require(FileManager.default.contents(atPath: "/proc/\(worker)/\(file)"))
      let texts = data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      #expect(!texts.contains { $0.contains("FERRY_") || $0.contains("s3cret") }, "\(file)")
      if file == "environ" { #expect(texts.contains("SOMETHING_ELSE=kept")) }
    }
  }
}
