import Addresses
import Foundation
import Logging
import TestSupport
import Testing
import TransferModel

@testable import FerrySettings

/// What holds, of options, environment and file.
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

  /// Each by each way: what the library makes of the names is what the documents say.
  @Test(arguments: SettingsCatalogue.all.map(\.name)) func everyWayReaches(_ name: String) async throws {
    let setting = try #require(SettingsCatalogue.named(name))
    let text = name.hasSuffix("-file") ? try file("one\n", "lines") : name == "config" ? try file("{}") : ""
    let sample = text.isEmpty ? try #require(SettingsCatalogueTests.samples[name]) : text
    var found: [GivenValue?] = []
    if setting.places.contains(.commandLine) {
      found.append(try await Settings.load([name: sample], environment: [:]).given[name])
      #expect(found.last == GivenValue(text: sample, origin: .commandLine("--" + name)))
    }
    if setting.places.contains(.environment) {
      found.append(try await Settings.load([:], environment: [setting.variable: sample]).given[name])
      #expect(found.last == GivenValue(text: sample, origin: .environment(setting.variable)))
    }
    for member in [setting.member, name] where setting.places.contains(.file) {
      let quoted =
        switch setting.form {
        case .integer, .decimal, .flag: sample
        default: "\"\(sample)\""
        }
      let path = try file("{\"\(member)\":\(quoted)}")
      found.append(try await Settings.load(["config": path], environment: [:]).given[name])
      #expect(found.last == GivenValue(text: sample, origin: .file(path, member: setting.member)))
    }
    #expect(found.count >= 2)
  }

  @Test func optionsAreStrongerThanTheEnvironmentAndThatThanTheFile() async throws {
    let path = try file(#"{"workers":2,"maximumTransfers":2,"maximumConnections":2}"#)
    let environment = [
      "FERRY_CONFIG": path, "FERRY_WORKERS": "3", "FERRY_MAXIMUM_TRANSFERS": "3", "WORKERS": "9",
    ]
    let settings = try await Settings.load(["workers": "4"], environment: environment)
    #expect(settings.workers == 4 && settings.maximumTransfers == 3 && settings.maximumConnections == 2)
    #expect(settings.smallBodyLimit == 32_768 && settings.given["small-body-limit"] == nil)
    // An option's file takes the place of the environment's.
    let other = try file(#"{"maximumConnections":7}"#)
    let those = try await Settings.load(["config": other], environment: environment)
    #expect(those.maximumConnections == 7 && those.workers == 3)
  }

  @Test func withoutAnythingTheDefaultsHold() async throws {
    let settings = try await Settings.load([:], environment: [:])
    #expect(settings.listen.description == "127.0.0.1:8080" && settings.dataDirectory == "ferry-data")
    #expect(settings.tokens.isEmpty && settings.allowedNetworks.isEmpty && settings.logLevel == .info)
    #expect(settings.retention == Retention() && settings.discretion == DiscretionaryPolicy())
    #expect(!settings.acceptsNewDatabase && settings.workerArguments.isEmpty && settings.given.isEmpty)
  }

  @Test func severalTogether() async throws {
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

  @Test func theWorkerIsToldWhatItHasToKnow() async throws {
    let path = try file(#"{"allowNetwork":["10.0.0.0/8","127.0.0.0/8"],"tokens":["one"]}"#)
    let settings = try await Settings.load(
      ["config": path, "workers": "3", "interface-class": "a=cellular b=expensive"],
      environment: ["FERRY_LOG_LEVEL": "debug", "FERRY_LISTEN": "[::1]:1"])
    #expect(
      settings.workerArguments == [
        "--allow-network", "10.0.0.0/8 127.0.0.0/8", "--interface-class", "a=cellular b=expensive",
        "--log-level", "debug",
      ])
    let inherited = Settings.workerEnvironment([
      "FERRY_TOKENS": "one", "FERRY_WORKERS": "2", "KRB5CCNAME": "x",
    ])
    #expect(inherited == ["KRB5CCNAME": "x"])
  }

  /// What a service of another version has taken for a setting, or what is wrong with others, is no matter of its.
  @Test func theWorkerReadsWhatIsItsOwn() async throws {
    let environment = ["FERRY_TOMORROW": "1", "FERRY_LISTEN": "0.0.0.0:1", "FERRY_WORKERS": "none"]
    let settings = try await Settings.load(["log-level": "error"], for: .worker, environment: environment)
    #expect(settings.logLevel == .error && settings.listen.port == 8080)
    #expect(await fault(for: .maintenance, environment)?.hasPrefix("FERRY_TOMORROW is not a setting") == true)
    #expect(await fault(for: .maintenance, ["FERRY_LISTEN": "0.0.0.0:1"]) == nil)
  }

  // MARK: Tokens

  @Test(arguments: ["one,a two", "one\na two", "\n one \n\n a\ttwo ,", "a two,one"])
  func theEnvironmentMayHaveTokens(_ text: String) async throws {
    let settings = try await Settings.load(["listen": "0.0.0.0:1"], environment: ["FERRY_TOKENS": text])
    #expect(Set(settings.tokens.map(\.text)) == ["one", "two"])
    #expect(settings.tokens.first { $0.text == "two" }?.tenant.name == "a")
    #expect(try settings.readTokens() == settings.tokens)
  }

  @Test func theFileMayHaveTokens() async throws {
    let path = try file(#"{"tokens":["one","a two"]}"#)
    let settings = try await Settings.load(["config": path], environment: [:])
    #expect(
      settings.tokens == [BearerToken(text: "one"), BearerToken(tenant: Tenant(name: "a"), text: "two")])
  }

  /// What is wrong with them is told without them.
  @Test(
    arguments: [
      ("s3cret one two", "entry 1 is not"), ("ok,s3cret one two", "entry 2 is not"),
      ("a s3cret,b s3cret", "entry 2 gives a token to another tenant"), ("", "no token"),
      (" ,\n", "no token"),
    ])
  func wrongTokens(_ text: String, _ word: String) async throws {
    let message = try #require(await fault([:], ["FERRY_TOKENS": text]))
    #expect(message.hasPrefix("tokens: ") && message.contains(word) && message.contains("FERRY_TOKENS"))
    #expect(!message.contains("s3cret"))
  }

  @Test func tokensAndATokenFileAreOneTooMany() async throws {
    let path = try file("one\n", "tokens")
    #expect(
      await fault(["token-file": path], ["FERRY_TOKENS": "one"])
        == "tokens: FERRY_TOKENS and --token-file are both given; leave one of them out")
    let config = try file(#"{"tokens":["one"]}"#)
    #expect(
      await fault(["config": config], ["FERRY_TOKEN_FILE": path])
        == "tokens: 'tokens' in \(config) and FERRY_TOKEN_FILE are both given; leave one of them out")
  }

  @Test func aTokenFileIsReadAgain() async throws {
    let path = try file("one\n", "tokens")
    let settings = try await Settings.load(["token-file": path], environment: [:])
    #expect(settings.tokens.map(\.text) == ["one"])
    try "b two\n\nthree\n".write(toFile: path, atomically: false, encoding: .utf8)
    #expect(try settings.readTokens().map(\.text) == ["two", "three"])
    try "b two\nx y z\n".write(toFile: path, atomically: false, encoding: .utf8)
    #expect(throws: SettingsError(\.tokenFile, "\(path): line 2 is not a token, or a tenant and a token")) {
      try settings.readTokens()
    }
    try Data([0xFF]).write(to: URL(fileURLWithPath: path))
    #expect(throws: SettingsError(\.tokenFile, "\(path) is not UTF-8")) { try settings.readTokens() }
    try FileManager.default.removeItem(atPath: path)
    #expect(throws: SettingsError.self) { try settings.readTokens() }
    #expect(settings.tokens.map(\.text) == ["one"])
  }

  @Test func withoutATokenOnlyThisMachineIsServed() async throws {
    let message = try #require(await fault(["listen": "0.0.0.0:1"]))
    #expect(message.hasPrefix("listen: without a token (--token-file or FERRY_TOKENS)"))
    #expect(await fault(["listen": ":1"])?.hasSuffix("only a loopback address is allowed, not :1") == true)
    #expect(await fault(["listen": "[::1]:1"]) == nil)
  }

  // MARK: Mistakes

  /// The message says where to look.
  @Test func faultsNameTheirPlace() async throws {
    #expect(await fault(["workers": "x"]) == "workers: 'x' is not a number between 1 and 64")
    #expect(
      await fault([:], ["FERRY_WORKERS": "x"])
        == "workers: 'x' is not a number between 1 and 64 (FERRY_WORKERS)")
    let path = try file(#"{"workers":65}"#)
    #expect(
      await fault([:], ["FERRY_CONFIG": path])
        == "workers: '65' is not a number between 1 and 64 ('workers' in \(path))")
  }

  @Test(
    arguments: [
      (["FERRY_LISTENS": "1"], "FERRY_LISTENS is not a setting; did you mean FERRY_LISTEN?"),
      (["FERRY_DATA_DIR": "1"], "FERRY_DATA_DIR is not a setting; `ferry config` lists those that there are"),
      (
        ["FERRY_data_directory": "1"],
        "FERRY_data_directory is not a setting; did you mean FERRY_DATA_DIRECTORY?"
      ),
      (["FERRY_": "1"], "FERRY_ is not a setting; `ferry config` lists those that there are"),
      (["FERRY_PORT": "80"], "FERRY_PORT is not a setting; `ferry config` lists those that there are"),
      (["FERRYLISTEN": "1", "ferry_listen": "1"], nil),
    ] as [([String: String], String?)])
  func unknownVariables(_ environment: [String: String], _ message: String?) async {
    #expect(await fault([:], environment) == message)
  }

  /// As Kubernetes sets them for a service that is called `ferry`, or `ferry-blue`.
  @Test func variablesOfContainersAreNoSettings() async {
    let environment = [
      "FERRY_SERVICE_HOST": "10.0.0.1", "FERRY_SERVICE_PORT": "80", "FERRY_SERVICE_PORT_HTTP": "80",
      "FERRY_PORT": "tcp://10.0.0.1:80", "FERRY_PORT_80_TCP": "tcp://10.0.0.1:80",
      "FERRY_PORT_80_TCP_PROTO": "tcp", "FERRY_PORT_80_TCP_PORT": "80", "FERRY_PORT_80_TCP_ADDR": "10.0.0.1",
      "FERRY_BLUE_SERVICE_HOST": "10.0.0.2", "FERRY_BLUE_PORT": "udp://10.0.0.2:5",
      "FERRY_BLUE_PORT_5_UDP_ADDR": "10.0.0.2",
    ]
    #expect(await fault([:], environment) == nil)
  }
}
