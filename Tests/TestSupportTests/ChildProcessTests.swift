import Foundation
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct ChildProcessTests {
  @Test func `run returns the output and the status`() throws {
    let result = try ChildProcess.run(
      "/bin/sh", ["-c", "pwd; echo $A; echo no >&2; exit 7"], environment: ["A": "b"], directory: "/usr")
    #expect(result.output == "/usr\nb\nno\n" && result.status == 7)
  }

  @Test func `status of a killed program is the signal`() throws {
    let child = try ChildProcess("/bin/sleep", ["1000"])
    #expect(child.isRunning)
    child.terminate()
    #expect(child.terminationStatus == SIGTERM && !child.isRunning)
  }

  @Test func `program is killed after the time limit`() throws {
    #expect(try ChildProcess.run("/bin/sleep", ["1000"], patience: 0.01).status == SIGKILL)
  }

  @Test func `program reads its standard input`() throws {
    let input = Pipe()
    input.fileHandleForWriting.write(Data("words".utf8))
    try input.fileHandleForWriting.close()
    #expect(try ChildProcess.run("/bin/cat", [], input: .pipe(input)).output == "words")
    #expect(try ChildProcess.run("/bin/cat", []).bytes.isEmpty)
  }

  /// Other code looks for the pid, so the process is reaped without a call.
  @Test func `ended program is reaped`() throws {
    let child = try ChildProcess("/bin/true", [])
    for _ in 0..<2000 where kill(child.processIdentifier, 0) == 0 { usleep(10_000) }
    #expect(kill(child.processIdentifier, 0) == -1 && errno == ESRCH && child.terminationStatus == 0)
  }

  @Test func `program that does not exist throws`() {
    #expect(throws: (any Error).self) { try ChildProcess("/nowhere/at/all", []) }
  }
}
