import Addresses
import Foundation
import Logging
import TestSupport
import Testing
import TransferModel

@testable import FerrySettings

/// The effective settings from options, environment and file.
@Suite struct SettingsTests {
  private func file(_ text: String, _ name: String = "config.json") throws -> String {
    let path = TemporaryDirectory.make("ferry-settings") + "/" + name
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  private func fault(
    _ options: [String: String] = [:], for purpose: Settings.Purpose = .service,
    _ environment: [String: String] = [:]
  ) async -> String? {
    do {
      _ = try await Settings.load(options, for: purpose, environment: environment)
      return nil
    } catch { return error.description }
  }

  /// Each setting is given in each way. The names must be those in the documents.
  @Test(arguments: SettingsCatalogue.all.map(\.name)) func `every source works`(_ name: String) async throws {
    let setting = try #require(SettingsCatalogue.named(name))
    let text = name.hasSuffix("-file") ? try file("one\n", "lines") : name == "config" ? try file("{}") : ""
    let sample = text.isEmpty ? try #require(SettingsCatalogueTests.samples[name]) : text
    var found: [SettingValue?] = []
    if setting.places.contains(.commandLine) {
      found.append(try await Settings.load([name: sample], environment: [:]).given[name])
      #expect(found.last == SettingValue(text: sample, origin: .commandLine("--" + name)))
    }
    if setting.places.contains(.environment) {
      found.append(try await Settings.load([:], environment: [setting.variable: sample]).given[name])
      #expect(found.last == SettingValue(text: sample, origin: .environment(setting.variable)))
    }
    for member in [setting.member, name] where setting.places.contains(.file) {
      let quoted =
        switch setting.form {
        case .integer, .decimal, .flag: sample
        default: "\"\(sample)\""
        }
      let path = try file("{\"\(member)\":\(quoted)}")
      found.append(try await Settings.load(["config": path], environment: [:]).given[name])
      #expect(found.last == SettingValue(text: sample, origin: .file(path, member: setting.member)))
    }
    #expect(found.count >= 2)
  }

  @Test func `options override the environment, which overrides the file`() async throws {
    let path = try file(#"{"transferLoops":2,"maximumTransfers":2,"maximumConnections":2}"#)
    let environment = [
      "FERRY_CONFIG": path, "FERRY_TRANSFER_LOOPS": "3", "FERRY_MAXIMUM_TRANSFERS": "3", "WORKERS": "9",
    ]
    let settings = try await Settings.load(["transfer-loops": "4"], environment: environment)
    #expect(settings.transferLoops == 4 && settings.maximumTransfers == 3 && settings.maximumConnections == 2)
    #expect(settings.smallBodyLimit == 32_768 && settings.given["small-body-limit"] == nil)
    // The option's file replaces the one in the environment.
    let other = try file(#"{"maximumConnections":7}"#)
    let those = try await Settings.load(["config": other], environment: environment)
    #expect(those.maximumConnections == 7 && those.transferLoops == 3)
  }

  @Test func `defaults apply without any source`() async throws {
    let settings = try await Settings.load([:], environment: [:])
    #expect(settings.listen.description == "127.0.0.1:8080" && settings.dataDirectory == "ferry-data")
    #expect(settings.tokens.isEmpty && settings.allowedNetworks.isEmpty && settings.logLevel == .info)
    #expect(settings.retention == Retention() && settings.discretion == DiscretionaryPolicy())
    #expect(!settings.acceptsNewDatabase && settings.workerArguments.isEmpty && settings.given.isEmpty)
  }

  @Test func `retention and discretion combine several settings`() async throws {
    let environment = [
      "FERRY_TASK_RETENTION": "1", "FERRY_EVENT_RETENTION": "2", "FERRY_DELIVERY_RETENTION": "3",
      "FERRY_MAXIMUM_BODY_BYTES": "4", "FERRY_DISCRETIONARY_WINDOW": "22:00-06:00, 12:00-13:00",
      "FERRY_DISCRETIONARY_MAXIMUM_LOAD": "2",
    ]
    let settings = try await Settings.load([:], environment: environment)
    var retention = Retention()
    (retention.tasks, retention.events, retention.deliveries) = (1, 2, 3)
    retention.maximumBodyBytes = 4
    #expect(settings.retention == retention)
    #expect(settings.discretion.windows.count == 2 && settings.discretion.maximumLoad == 2)
  }

  // MARK: The worker

  @Test func `worker receives its settings as arguments`() async throws {
    let path = try file(#"{"allowNetwork":["10.0.0.0/8","127.0.0.0/8"],"tokens":["one"]}"#)
    let settings = try await Settings.load(
      ["config": path, "transfer-loops": "3", "interface-class": "a=cellular b=expensive"],
      environment: ["FERRY_LOG_LEVEL": "debug", "FERRY_LISTEN": "[::1]:1"])
    #expect(
      settings.workerArguments == [
        "--allow-network", "10.0.0.0/8 127.0.0.0/8", "--interface-class", "a=cellular b=expensive",
        "--log-level", "debug",
      ])
    let inherited = Settings.workerEnvironment([
      "FERRY_TOKENS": "one", "FERRY_TRANSFER_LOOPS": "2", "KRB5CCNAME": "x",
    ])
    #expect(inherited == ["KRB5CCNAME": "x"])
  }

  /// Unknown or faulty settings for the service of another version must not stop the worker.
  @Test func `worker reads only its own settings`() async throws {
    let environment = ["FERRY_TOMORROW": "1", "FERRY_LISTEN": "0.0.0.0:1", "FERRY_TRANSFER_LOOPS": "none"]
    let settings = try await Settings.load(["log-level": "error"], for: .worker, environment: environment)
    #expect(settings.logLevel == .error && settings.listen.port == 8080)
    #expect(await fault(for: .maintenance, environment)?.hasPrefix("FERRY_TOMORROW is not a setting") == true)
    #expect(await fault(for: .maintenance, ["FERRY_LISTEN": "0.0.0.0:1"]) == nil)
  }

  @Test func `former name of a variable is an error that names the present one`() async {
    #expect(
      await fault([:], ["FERRY_WORKERS": "2"])
        == "FERRY_WORKERS is not a setting; it is called FERRY_TRANSFER_LOOPS now")
  }

  // MARK: Tokens

  @Test(arguments: ["one,a two", "one\na two", "\n one \n\n a\ttwo ,", "a two,one"])
  func `environment may have tokens`(_ text: String) async throws {
    let settings = try await Settings.load(["listen": "0.0.0.0:1"], environment: ["FERRY_TOKENS": text])
    #expect(Set(settings.tokens.map(\.text)) == ["one", "two"])
    #expect(settings.tokens.first { $0.text == "two" }?.tenant.name == "a")
    #expect(try settings.readTokens() == settings.tokens)
  }

  @Test func `settings file may have tokens`() async throws {
    let path = try file(#"{"tokens":["one","a two"]}"#)
    let settings = try await Settings.load(["config": path], environment: [:])
    #expect(
      settings.tokens == [BearerToken(text: "one"), BearerToken(tenant: Tenant(name: "a"), text: "two")])
  }

  /// Error messages must not contain the tokens.
  @Test(
    arguments: [
      ("s3cret one two", "entry 1 has too many words"), ("ok,s3cret one two", "entry 2 has too many words"),
      ("a s3cret,b s3cret", "entry 2 repeats the token of another tenant"), ("", "no token"),
      (" ,\n", "no token"),
    ])
  func `wrong tokens are refused without being shown`(_ text: String, _ word: String) async throws {
    let message = try #require(await fault([:], ["FERRY_TOKENS": text]))
    #expect(message.hasPrefix("tokens: ") && message.contains(word) && message.contains("FERRY_TOKENS"))
    #expect(!message.contains("s3cret"))
  }

  @Test func `tokens and a token file exclude each other`() async throws {
    let path = try file("one\n", "tokens")
    #expect(
      await fault(["token-file": path], ["FERRY_TOKENS": "one"])
        == "tokens: FERRY_TOKENS and --token-file are both given; remove one of them")
    let config = try file(#"{"tokens":["one"]}"#)
    #expect(
      await fault(["config": config], ["FERRY_TOKEN_FILE": path])
        == "tokens: 'tokens' in \(config) and FERRY_TOKEN_FILE are both given; remove one of them")
  }

  @Test func `token file is reloaded`() async throws {
    let path = try file("one\n", "tokens")
    let settings = try await Settings.load(["token-file": path], environment: [:])
    #expect(settings.tokens.map(\.text) == ["one"])
    try "b two\n\nthree\n".write(toFile: path, atomically: false, encoding: .utf8)
    #expect(try settings.readTokens().map(\.text) == ["two", "three"])
    try "b two\nx y z\n".write(toFile: path, atomically: false, encoding: .utf8)
    let problem = "line 2 has too many words; write a token, optionally preceded by a tenant and a blank"
    #expect(throws: SettingsError(\.tokenFile, "\(path): \(problem)")) { try settings.readTokens() }
    try Data([0xFF]).write(to: URL(fileURLWithPath: path))
    #expect(throws: SettingsError(\.tokenFile, "\(path) is not UTF-8; save it in that encoding")) {
      try settings.readTokens()
    }
    try FileManager.default.removeItem(atPath: path)
    #expect(throws: SettingsError.self) { try settings.readTokens() }
    #expect(settings.tokens.map(\.text) == ["one"])
  }

  @Test func `only this machine is served without a token`() async throws {
    let message = try #require(await fault(["listen": "0.0.0.0:1"]))
    #expect(message.hasPrefix("listen: 0.0.0.0:1 can be reached from other machines, which requires a token"))
    #expect(await fault(["listen": ":1"])?.hasPrefix("listen: :1 can be reached from other machines") == true)
    #expect(await fault(["listen": "[::1]:1"]) == nil)
  }

  // MARK: Mistakes

  /// The message states the place.
  @Test func `fault names its place`() async throws {
    #expect(await fault(["transfer-loops": "x"]) == "transfer-loops: 'x' is not a number between 1 and 64")
    #expect(
      await fault([:], ["FERRY_TRANSFER_LOOPS": "x"])
        == "transfer-loops: 'x' is not a number between 1 and 64 (FERRY_TRANSFER_LOOPS)")
    let path = try file(#"{"transferLoops":65}"#)
    #expect(
      await fault([:], ["FERRY_CONFIG": path])
        == "transfer-loops: '65' is not a number between 1 and 64 ('transferLoops' in \(path))")
  }

  private static let remedy = "remove it, or correct its name (`ferry serve --help` lists the settings)"

  @Test(
    arguments: [
      (["FERRY_LISTENS": "1"], "FERRY_LISTENS is not a setting; did you mean FERRY_LISTEN?"),
      (["FERRY_DATA_DIR": "1"], "FERRY_DATA_DIR is not a setting; \(remedy)"),
      (
        ["FERRY_data_directory": "1"],
        "FERRY_data_directory is not a setting; did you mean FERRY_DATA_DIRECTORY?"
      ),
      (["FERRY_": "1"], "FERRY_ is not a setting; \(remedy)"),
      (["FERRY_PORT": "80"], "FERRY_PORT is not a setting; \(remedy)"),
      (["FERRYLISTEN": "1", "ferry_listen": "1"], nil),
    ] as [([String: String], String?)])
  func `unknown variables are refused`(_ environment: [String: String], _ message: String?) async {
    #expect(await fault([:], environment) == message)
  }

  /// The variables that Kubernetes sets for a service called `ferry` or `ferry-blue`.
  @Test func `variables of containers are ignored`() async {
    let environment = [
      "FERRY_SERVICE_HOST": "10.0.0.1", "FERRY_SERVICE_PORT": "80", "FERRY_SERVICE_PORT_HTTP": "80",
      "FERRY_PORT": "tcp://10.0.0.1:80", "FERRY_PORT_80_TCP": "tcp://10.0.0.1:80",
      "FERRY_PORT_80_TCP_PROTO": "tcp", "FERRY_PORT_80_TCP_PORT": "80", "FERRY_PORT_80_TCP_ADDR": "10.0.0.1",
      "FERRY_BLUE_SERVICE_HOST": "10.0.0.2", "FERRY_BLUE_PORT": "udp://10.0.0.2:5",
      "FERRY_BLUE_PORT_5_UDP_ADDR": "10.0.0.2",
    ]
    #expect(await fault([:], environment) == nil)
  }

  @Test func `variables of the client are ignored`() async {
    let environment = ["FERRY_SERVER": "http://h", "FERRY_TOKEN": "t", "FERRY_CONTEXT": "c"]
    #expect(await fault([:], environment) == nil)
    #expect(await fault([:], ["FERRY_SERVERS": "x"]) != nil)
  }
}
