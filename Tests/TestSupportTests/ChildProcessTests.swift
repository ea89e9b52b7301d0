import Foundation
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct ChildProcessTests {
  @Test func itIsRunToItsEnd() throws {
    let result = try ChildProcess.run(
      "/bin/sh", ["-c", "pwd; echo $A; echo no >&2; exit 7"], environment: ["A": "b"], directory: "/usr")
    #expect(result.output == "/usr\nb\nno\n" && result.status == 7)
  }

  @Test func theSignalThatEndsItIsItsStatus() throws {
    let child = try ChildProcess("/bin/sleep", ["1000"])
    #expect(child.isRunning)
    child.terminate()
    #expect(child.terminationStatus == SIGTERM && !child.isRunning)
  }

  @Test func whoeverIsPatientForSoLongKillsIt() throws {
    #expect(try ChildProcess.run("/bin/sleep", ["1000"], patience: 0.01).status == SIGKILL)
  }

  @Test func itReadsWhatItIsGiven() throws {
    let input = Pipe()
    input.fileHandleForWriting.write(Data("words".utf8))
    try input.fileHandleForWriting.close()
    #expect(try ChildProcess.run("/bin/cat", [], input: .pipe(input)).output == "words")
    #expect(try ChildProcess.run("/bin/cat", []).bytes.isEmpty)
  }

  /// Nobody has to ask for that: others look for its pid.
  @Test func nothingIsLeftOfIt() throws {
    let child = try ChildProcess("/bin/true", [])
    for _ in 0..<2000 where kill(child.processIdentifier, 0) == 0 { usleep(10_000) }
    #expect(kill(child.processIdentifier, 0) == -1 && errno == ESRCH && child.terminationStatus == 0)
  }

  @Test func whatCannotBeStartedThrows() {
    #expect(throws: (any Error).self) { try ChildProcess("/nowhere/at/all", []) }
  }
}
