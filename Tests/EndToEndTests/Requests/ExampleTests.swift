import Foundation
import TestSupport
import Testing

/// The examples of `openapi.yaml`, checked against its schemas and against the service.
@Suite(.blocking, .endsInTime) struct ExampleTests {
  /// Runs a Python program and returns its output, and whether it succeeded.
  private func run(_ program: String, _ arguments: [String] = []) throws -> (text: String, isGood: Bool) {
    let result = try ChildProcess.run(
      ServerFiles.python, [ServerFiles.client(program), ServerFiles.openAPI] + arguments)
    return (result.output, result.status == 0)
  }

  @Test func `each example is valid by its schema`() throws {
    let (text, isGood) = try run("openapi_examples.py")
    #expect(isGood && text == "all examples are valid\n", "\(text)")
  }

  @Test func `service replies like the examples`() throws {
    let kit = try CertificateKit.shared()
    let directory = TemporaryDirectory.make("examples")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let leaf = try #require(kit.leaves[.good])
    for (name, text) in [("authority", kit.authority), ("certificate", leaf), ("key", kit.key)] {
      try text.write(toFile: "\(directory)/\(name).pem", atomically: false, encoding: .utf8)
    }
    let ferry = try FerryProcess(options: ["--ca-file", directory + "/authority.pem"])
    let (text, isGood) = try run(
      "openapi_examples_service.py",
      ["http://127.0.0.1:\(ferry.port)", directory + "/certificate.pem", directory + "/key.pem"])
    #expect(isGood && text == "all replies match their examples\n", "\(text)")
  }
}
