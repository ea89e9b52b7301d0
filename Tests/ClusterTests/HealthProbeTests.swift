import Cluster
import Glibc
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct HealthProbeTests {
  /// Probes a server that sends this reply.
  private func ask(_ reply: String) async throws -> String {
    let origin = TestOrigin { _, socket in
      try socket.write(Array(reply.utf8))
      return false
    }
    return try await HealthProbe.ask(
      host: "127.0.0.1", port: origin.port, path: "/livez", timeout: .seconds(10))
  }

  @Test func `first line of a 200 is returned`() async throws {
    #expect(try await ask("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n") == "ok")
    #expect(try await ask("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") == "")
  }

  @Test(arguments: [
    ("", "did not reply in HTTP"), ("SSH-2.0-OpenSSH\r\n", "did not reply in HTTP"),
    ("HTTP/1.1 yes\r\n\r\n", "did not reply in HTTP"),
    ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}", "replied with status 503"),
    ("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "replied with status 302"),
  ]) func `reply other than 200 is a failure`(_ reply: String, _ reason: String) async {
    let failure = await #expect(throws: HealthProbe.Failure.self) { try await ask(reply) }
    #expect(failure?.description.contains(reason) == true, "\(failure?.description ?? "")")
  }

  @Test func `endless line is cut off`() async throws {
    let line = String(repeating: "a", count: 100_000)
    let answer = try await ask("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\(line)")
    #expect(answer.count == 16 * 1024)
  }

  @Test func `silent server runs into the timeout`() async throws {
    // The kernel accepts the connection, and no process reads from it.
    let silent = try InheritedSocket(.loopback)
    let failure = await #expect(throws: HealthProbe.Failure.self) {
      try await HealthProbe.ask(
        host: "127.0.0.1", port: silent.port, path: "/", timeout: .milliseconds(50))
    }
    #expect(failure?.description.contains("did not reply in time") == true)
  }

  @Test func `port without a server is reported as refused`() async throws {
    let failure = await #expect(throws: HealthProbe.Failure.self) {
      try await HealthProbe.ask(host: "127.0.0.1", port: 1, path: "/", timeout: .seconds(3))
    }
    #expect(failure?.description == "127.0.0.1:1 cannot be reached: Connection refused")
  }
}
