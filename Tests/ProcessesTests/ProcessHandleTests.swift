import Foundation
import TestSupport
import Testing

@testable import Processes

@Suite(.blocking, .endsInTime) struct ProcessHandleTests {
  private func sleeper() throws -> Int32 {
    let log = TemporaryDirectory.make("ferry-handle") + "/log"
    return try DetachedProcess.start("/bin/sleep", ["sleep", "1000"], log: log)
  }

  @Test func `process ends at SIGTERM and has ended before it is reaped`() throws {
    let pid = try sleeper()
    let process = try #require(ProcessHandle(pid: pid) { true })
    #expect(!process.hasEnded && process.pid == pid)
    #expect(process.send(.terminate) == 0)
    var information = siginfo_t()
    while waitid(P_PID, UInt32(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    // The process is not reaped yet.
    #expect(process.hasEnded)
    #expect(DetachedProcess.reap(pid).map { $0 & 0x7F } == SIGTERM)
    #expect(process.hasEnded && process.send(.terminate) == ESRCH)
    #expect(ProcessHandle(pid: pid) { true } == nil)
  }

  /// The process id was reused, so no handle is created.
  @Test func `process that reuses the id gets no handle`() throws {
    let pid = try sleeper()
    #expect(ProcessHandle(pid: pid) { false } == nil)
    #expect(DetachedProcess.reap(pid) == nil)
    #expect(ProcessHandle(pid: pid) { true }?.send(.kill) == 0)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
  }
}
