import Foundation
import TestSupport
import Testing

/// Clients generated from `openapi.yaml`.
@Suite(.blocking, .endsInTime) struct GeneratedClientTests {
  @Test func `generated Python client drives a session`() throws {
    let ferry = try FerryProcess()
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array("for a generated client".utf8)))
      return true
    }
    let directory = TemporaryDirectory.make("generated-client")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let result = try ChildProcess.run(
      ServerFiles.python,
      [
        ServerFiles.client("generated_client.py"), ServerFiles.openAPI, "http://127.0.0.1:\(ferry.port)",
        origin.url + "/", directory,
      ])
    #expect(result.status == 0 && result.output.hasSuffix("driven\n"), "\(result.output)")
    withExtendedLifetime(origin) {}
  }
}
