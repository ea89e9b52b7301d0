import Foundation
import Logging
import TestSupport
import Testing
import TransferModel

@testable import FerrySettings

/// The service that a command uses if none is named.
@Suite struct LocalServiceTests {
  private let place = TemporaryDirectory.make("ferry-local")
  private var own: String { place + "/ferry-data" }
  private var file: String { place + "/etc/ferry.env" }
  private var packages: String { place + "/var" }
  private var service: LocalService {
    LocalService(ownDirectory: own, environmentFile: file, packageDirectory: packages)
  }

  private func make(_ directory: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  private func write(_ text: String, to path: String) throws {
    try make(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    try text.write(toFile: path, atomically: false, encoding: .utf8)
  }

  private func load(
    _ options: [String: String] = [:], _ environment: [String: String] = [:],
    for purpose: Settings.Purpose = .service
  ) async throws -> Settings {
    try await Settings.load(options, for: purpose, local: service, environment: environment)
  }

  @Test func `defaults apply without any service`() async throws {
    #expect(try await load().given.isEmpty)
    #expect(try await load().namedDirectory == "ferry-data (the default)")
  }

  @Test func `package is used with its variables`() async throws {
    try write("FERRY_LISTEN=127.0.0.1:99\nFERRY_TOKENS=s3cret\nKRB5CCNAME=x\n", to: file)
    for purpose in [Settings.Purpose.service, .maintenance] {
      let settings = try await load(for: purpose)
      #expect(settings.dataDirectory == packages)
      #expect(settings.namedDirectory == "\(packages) ('FERRY_DATA_DIRECTORY' in ferry.service)")
    }
    let settings = try await load()
    #expect(settings.given["listen"]?.origin == .file(file, member: "FERRY_LISTEN"))
    #expect(settings.listen.port == 99 && settings.tokens.map(\.text) == ["s3cret"])
    let table = SettingsReport(settings).table
    #expect(table.contains("ferry.service") && table.contains(file) && !table.contains("s3cret"))
  }

  @Test func `package without its file is its directory`() async throws {
    try make(packages)
    #expect(try await load().dataDirectory == packages)
  }

  @Test func `variables of the file replace those of the unit`() async throws {
    try write("FERRY_DATA_DIRECTORY=elsewhere\nFERRY_CA_FILE=/etc/ca\n", to: file)
    let settings = try await load()
    #expect(settings.dataDirectory == packages + "/elsewhere" && settings.caFile == "/etc/ca")
  }

  @Test func `working directory comes before the package`() async throws {
    try write("FERRY_LISTEN=127.0.0.1:99\n", to: file)
    try make(own)
    let settings = try await load()
    #expect(settings.dataDirectory == own && settings.listen.port == 8080)
    #expect(settings.namedDirectory == "\(own) (the working directory)")
    #expect(SettingsReport(settings).table.contains("found in the working directory"))
  }

  @Test(
    arguments: [
      (["data-directory": "/named"], [:]), ([:], ["FERRY_DATA_DIRECTORY": "/named"]),
    ] as [([String: String], [String: String])])
  func `options override a package`(_ options: [String: String], _ environment: [String: String]) async throws
  {
    // The package's file is not even read.
    try write("FERRY_NONSENSE=1\n", to: file)
    try make(own)
    #expect(try await load(options, environment).dataDirectory == "/named")
  }

  @Test func `named file comes before the package`() async throws {
    try write("FERRY_LISTEN=127.0.0.1:99\n", to: file)
    try write(#"{"dataDirectory":"/named"}"#, to: place + "/config")
    let settings = try await load(["config": place + "/config"])
    #expect(settings.dataDirectory == "/named" && settings.listen.port == 8080)
  }

  /// Relative paths of the service begin at its working directory, which is the data directory.
  @Test func `settings file of the package is read`() async throws {
    try write("FERRY_CONFIG=settings.json\nFERRY_TRANSFER_LOOPS=3\n", to: file)
    try write(
      #"{"transferLoops":2,"maximumConnections":7,"tokenFile":"tokens"}"#, to: packages + "/settings.json")
    try write("one\n", to: packages + "/tokens")
    let settings = try await load(["log-level": "debug"], ["FERRY_MAXIMUM_TRANSFERS": "5"])
    #expect(settings.transferLoops == 3 && settings.maximumConnections == 7 && settings.maximumTransfers == 5)
    #expect(settings.tokens.map(\.text) == ["one"] && settings.logLevel == .debug)
    #expect(settings.tokenFile == packages + "/tokens")
  }

  @Test func `wrong variable of the package is named with its file`() async throws {
    try write("FERRY_LISTENS=1\n", to: file)
    let error = SettingsError(whole: "FERRY_LISTENS in \(file) is not a setting; did you mean FERRY_LISTEN?")
    await #expect(throws: error) { try await load() }
    try write("FERRY_TRANSFER_LOOPS=none\n", to: file)
    let other = SettingsError(
      whole: "transfer-loops: 'none' is not a number between 1 and 64 ('FERRY_TRANSFER_LOOPS' in \(file))")
    await #expect(throws: other) { try await load() }
  }

  @Test func `unreadable file of the package requires sudo`() async throws {
    // Root cannot read a directory, as other users cannot read a file without permission.
    try make(file)
    let error = SettingsError(
      whole: "\(file) is a directory, not a file; use sudo, or name the service with --data-directory")
    await #expect(throws: error) { try await load() }
    await #expect(throws: SettingsError.self) {
      try await Settings.listenAddress([:], local: service, environment: [:])
    }
  }

  @Test func `health command uses the address of the package`() async throws {
    try write("FERRY_LISTEN=:99\n", to: file)
    func address(_ options: [String: String] = [:], _ environment: [String: String] = [:]) async throws
      -> String
    {
      try await Settings.listenAddress(options, local: service, environment: environment).description
    }
    #expect(try await address() == ":99")
    #expect(try await address(["listen": "[::1]:1"]) == "[::1]:1")
    #expect(try await address([:], ["FERRY_LISTEN": "[::1]:2"]) == "[::1]:2")
    #expect(try await address([:], ["FERRY_DATA_DIRECTORY": "/x"]) == "127.0.0.1:8080")
    try make(own)
    #expect(try await address() == "127.0.0.1:8080")
  }
}
