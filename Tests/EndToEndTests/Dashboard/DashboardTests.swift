import Foundation
import TestSupport
import Testing

/// The dashboard and the API reference in Chromium.
@Suite(.blocking, .endsInTime) struct DashboardTests {
  /// Runs a case of the program, and returns its output.
  private func run(_ name: String, options: [String] = [], arguments: [String] = []) throws -> String {
    let kit = try CertificateKit.shared()
    let directory = TemporaryDirectory.make("dashboard")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let leaf = try #require(kit.leaves[.good])
    for (name, text) in [("certificate", leaf), ("key", kit.key)] {
      try text.write(toFile: "\(directory)/\(name).pem", atomically: false, encoding: .utf8)
    }
    let ferry = try FerryProcess(options: options)
    return try ChildProcess.run(
      ServerFiles.python,
      [
        ServerFiles.client("dashboard.py"), name, "http://127.0.0.1:\(ferry.port)",
        directory + "/certificate.pem", directory + "/key.pem",
      ] + arguments
    ).output
  }

  @Test(arguments: [
    "download", "failure", "login", "trust", "redeliver", "views", "prefix", "disconnection", "modules",
    "reference", "budget", "counts",
  ]) func `user reaches the goal without a fault of the page`(_ name: String) throws {
    let output = try run(name)
    #expect(output.hasSuffix("all is well\n"), "\(output)")
  }

  @Test func `list of 100,000 tasks scrolls, filters and cancels`() throws {
    let output = try run("many")
    #expect(output == "all is well\n")
  }

  @Test func `token is asked for and kept in memory only`() throws {
    let token = "t0ken-of-the-dashboard"
    let file = TemporaryDirectory.make("dashboard-token") + "/tokens"
    defer { try? FileManager.default.removeItem(atPath: (file as NSString).deletingLastPathComponent) }
    try (token + "\n").write(toFile: file, atomically: false, encoding: .utf8)
    #expect(chmod(file, 0o600) == 0)
    let output = try run("token", options: ["--token-file", file], arguments: ["--token", token])
    #expect(output == "all is well\n")
  }
}
