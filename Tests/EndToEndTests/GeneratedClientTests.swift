import Foundation
import TestSupport
import Testing

/// Clients that nobody wrote by hand.
@Suite(.blocking, .endsInTime) struct GeneratedClientTests {
  @Test func whatIsGeneratedForPythonDrivesASession() throws {
    let ferry = try FerryProcess()
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array("for a generated client".utf8)))
      return true
    }
    let directory = TemporaryDirectory.make("generated-client")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: ServerFiles.python)
    process.arguments = [
      ServerFiles.client("generated_client.py"), ServerFiles.openAPI, "http://127.0.0.1:\(ferry.port)",
      origin.url + "/", directory,
    ]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && text.hasSuffix("driven\n"), "\(text)")
    withExtendedLifetime(origin) {}
  }
}
