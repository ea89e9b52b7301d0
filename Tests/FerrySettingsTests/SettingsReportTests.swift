import Foundation
import JSON
import TestSupport
import Testing

@testable import FerrySettings

/// The output of `ferry config`.
@Suite struct SettingsReportTests {
  private func report(
    _ options: [String: String] = [:], _ environment: [String: String] = [:]
  ) async throws -> (lines: [[String]], json: [JSONValue]) {
    let report = SettingsReport(try await Settings.load(options, environment: environment))
    let lines = report.table.split(separator: "\n").map { line in
      String(line).replacing(#/ {2,}/#, with: "\t").split(separator: "\t").map(String.init)
    }
    return (lines, try JSONParser.parse(report.json)["settings"]?.elements ?? [])
  }

  @Test func `every visible setting is listed`() async throws {
    let report = try await report()
    let shown = SettingsCatalogue.all.filter { !$0.traits.contains(.hidden) }
    #expect(report.lines.map { $0[0] } == shown.map(\.name))
    #expect(report.lines.allSatisfy { $0.count == 3 && $0[2] == "default" })
    #expect(report.json.map { $0["name"]?.string } == shown.map(\.member))
    #expect(report.json.allSatisfy { $0["source"] == .string("default") && $0["from"] == .null })
  }

  @Test func `each setting has its source`() async throws {
    let path = TemporaryDirectory.make("ferry-report") + "/c.json"
    try #"{"maximumTransfers":7,"allowNetwork":["10.0.0.0/8"]}"#.write(
      toFile: path, atomically: false, encoding: .utf8)
    let report = try await report(["transfer-loops": "2", "config": path], ["FERRY_LOG_LEVEL": "debug"])
    for line in [
      ["transfer-loops", "2", "--transfer-loops"], ["config", path, "--config"],
      ["log-level", "debug", "FERRY_LOG_LEVEL"],
      ["maximum-transfers", "7", path], ["allow-network", "10.0.0.0/8", path],
      ["maximum-body-bytes", "(no limit)", "default"], ["listen", "127.0.0.1:8080", "default"],
    ] { #expect(report.lines.contains(line), "\(line)") }
    func member(_ name: String) -> JSONValue? { report.json.first { $0["name"]?.string == name } }
    #expect(member("transferLoops")?["value"] == .integer(2))
    #expect(member("transferLoops")?["source"] == .string("commandLine"))
    #expect(member("transferLoops")?["from"] == .string("--transfer-loops"))
    #expect(member("logLevel")?["source"] == .string("environment"))
    #expect(member("logLevel")?["from"] == .string("FERRY_LOG_LEVEL"))
    #expect(member("allowNetwork")?["value"] == .array([.string("10.0.0.0/8")]))
    #expect(member("allowNetwork")?["from"] == .string(path))
    #expect(member("newDatabase")?["value"] == .bool(false))
    #expect(member("maximumBodyBytes")?["value"] == .null)
    #expect(member("interfaceClass")?["value"] == .array([]))
  }

  @Test func `secrets are redacted`() async throws {
    let settings = try await Settings.load([:], environment: ["FERRY_TOKENS": "s3cret,a s3cret2"])
    let report = SettingsReport(settings)
    let texts = [report.table, String(decoding: report.json, as: UTF8.self)]
    for text in texts {
      #expect(text.contains("<redacted>") && text.contains("FERRY_TOKENS") && !text.contains("s3cret"))
    }
  }

  @Test func `each setting takes one line`() async throws {
    let report = try await report(["data-directory": "a\nb", "ca-file": "x"])
    #expect(report.lines.contains(["data-directory", "a\\nb", "--data-directory"]))
  }

  @Test func `hidden setting is listed if it is given`() async throws {
    let report = try await report(["retention-interval": "5"])
    #expect(report.lines.contains(["retention-interval", "5", "--retention-interval"]))
  }
}
