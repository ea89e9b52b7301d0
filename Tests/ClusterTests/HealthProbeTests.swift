import Cluster
import Glibc
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct HealthProbeTests {
  /// What a server is said to be that replies with these bytes.
  private func ask(_ reply: String) async throws -> String {
    let origin = TestOrigin { _, socket in
      try socket.write(Array(reply.utf8))
      return false
    }
    return try await HealthProbe.ask(
      host: "127.0.0.1", port: origin.port, path: "/livez", timeout: .seconds(10))
  }

  @Test func theFirstLineOfA200IsReturned() async throws {
    #expect(try await ask("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n") == "ok")
    #expect(try await ask("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") == "")
  }

  @Test(arguments: [
    ("", "no answer in HTTP"), ("SSH-2.0-OpenSSH\r\n", "no answer in HTTP"),
    ("HTTP/1.1 yes\r\n\r\n", "no answer in HTTP"),
    ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}", "answers 503"),
    ("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "answers 302"),
  ]) func otherRepliesFail(_ reply: String, _ reason: String) async {
    let failure = await #expect(throws: HealthProbe.Failure.self) { try await ask(reply) }
    #expect(failure?.description.contains(reason) == true, "\(failure?.description ?? "")")
  }

  /// Its body is not kept whole.
  @Test func anEndlessLineIsCutOff() async throws {
    let line = String(repeating: "a", count: 100_000)
    let answer = try await ask("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\(line)")
    #expect(answer.count == 16 * 1024)
  }

  @Test func aServerThatIsSilentRunsOutOfTime() async throws {
    // The kernel takes the connection, and nobody reads.
    let silent = try HandedOver(.loopback)
    let failure = await #expect(throws: HealthProbe.Failure.self) {
      try await HealthProbe.ask(
        host: "127.0.0.1", port: silent.port, path: "/", timeout: .milliseconds(50))
    }
    #expect(failure?.description.contains("does not answer in time") == true)
  }

  @Test func aPortWithoutAServerCannotBeReached() async throws {
    let failure = await #expect(throws: HealthProbe.Failure.self) {
      try await HealthProbe.ask(host: "127.0.0.1", port: 1, path: "/", timeout: .seconds(3))
    }
    #expect(failure?.description == "127.0.0.1:1 cannot be reached: Connection refused")
  }
}
