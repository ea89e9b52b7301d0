import Foundation
import TestSupport
import Testing

/// The examples of `openapi.yaml`: what the schemas say of them, and what the service says.
@Suite(.blocking, .endsInTime) struct ExampleTests {
  /// What the program says, and whether it ended well.
  private func run(_ program: String, _ arguments: [String] = []) throws -> (text: String, isGood: Bool) {
    let result = try ChildProcess.run(
      ServerFiles.python, [ServerFiles.client(program), ServerFiles.openAPI] + arguments)
    return (result.output, result.status == 0)
  }

  @Test func everyReplyHasOneThatItsSchemaAllows() throws {
    let (text, isGood) = try run("openapi_examples.py")
    #expect(isGood && text == "all are valid\n", "\(text)")
  }

  @Test func theServiceRepliesAsTheyDo() throws {
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
    #expect(isGood && text == "all are like it\n", "\(text)")
  }
}
