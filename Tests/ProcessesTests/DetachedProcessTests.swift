import Foundation
import TestSupport
import Testing

@testable import Processes

@Suite(.blocking, .endsInTime) struct DetachedProcessTests {
  private let log = TemporaryDirectory.make("ferry-detached") + "/log"

  private func start(_ script: String) throws -> Int32 {
    try DetachedProcess.start("/bin/sh", ["sh", "-c", script], log: log)
  }

  /// Waits until the child has ended; it is still there to be reaped.
  private func waitForEnd(of pid: Int32) {
    var information = siginfo_t()
    while waitid(P_PID, UInt32(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  }

  /// What a script writes to its log.
  private func run(_ script: String) throws -> [String] {
    let pid = try start(script)
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid) == 0)
    return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test func itHasASessionOfItsOwn() throws {
    // /proc/…/stat: pid, name, state, parent, group, session.
    let lines = try run("echo $$; cut -d ' ' -f 6 /proc/self/stat")
    #expect(lines.count == 2 && lines.first == lines.last)
  }

  @Test func whileItRunsItsSessionIsItself() throws {
    let pid = try DetachedProcess.start("/bin/sleep", ["sleep", "1000"], log: log)
    #expect(getsid(pid) == pid)
    #expect(DetachedProcess.reap(pid) == nil)
    #expect(ProcessHandle(pid: pid) { true }?.send(.kill) == 0)
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid).map { $0 & 0x7F } == SIGKILL)
    #expect(DetachedProcess.reap(pid) == nil)
  }

  @Test func itCanBeAskedToEnd() throws {
    let pid = try DetachedProcess.start("/bin/sleep", ["sleep", "1000"], log: log)
    #expect(ProcessHandle(pid: pid) { true }?.send(.terminate) == 0)
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid).map { $0 & 0x7F } == SIGTERM)
  }

  @Test func itsStatusIsTold() throws {
    let pid = try start("exit 7")
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid) == 7 << 8)
  }

  @Test func whatIsNobodysChildHereIsNotReaped() {
    #expect(DetachedProcess.reap(getpid()) == nil)
    #expect(DetachedProcess.reap(1) == nil)
  }

  /// Neither those that close by themselves, nor those that somebody has forgotten to mark so.
  @Test func noDescriptorsGoAlong() throws {
    var pipes: [Int32] = [-1, -1]
    #expect(pipe(&pipes) == 0)
    defer { for descriptor in pipes { close(descriptor) } }
    #expect(fcntl(pipes[0], F_GETFD) & FD_CLOEXEC == 0)
    #expect(try run("ls /proc/$$/fd; exit 0") == ["0", "1", "2"])
  }

  @Test func itReadsNothingAndWritesToTheLog() throws {
    let lines = try run("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; cat; echo error >&2")
    let file = URL(fileURLWithPath: log).standardizedFileURL.path
    #expect(lines == ["/dev/null", file, file, "error"])
    let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func noSignalIsBlockedOrIgnored() throws {
    let previous = signal(SIGHUP, SIG_IGN)
    defer { signal(SIGHUP, previous) }
    let masks = try run("grep -E 'Sig(Blk|Ign)' /proc/self/status").map { line in
      UInt64(line.split(separator: "\t").last ?? "", radix: 16)
    }
    // SIGCANCEL and SIGSETXID are the C library's own affair.
    #expect(masks.map { $0.map { $0 & ~0x1_8000_0000 } } == [0, 0])
  }

  @Test func theLogGoesOn() throws {
    _ = try run("echo first")
    #expect(try run("echo second") == ["first", "second"])
  }

  @Test(arguments: [(10 << 20, false), ((10 << 20) + 1, true)] as [(Int, Bool)])
  func aLongLogIsPutAside(_ size: Int, _ isPutAside: Bool) throws {
    #expect(FileManager.default.createFile(atPath: log, contents: nil))
    #expect(truncate(log, size) == 0)
    let pid = try start("echo new")
    waitForEnd(of: pid)
    _ = DetachedProcess.reap(pid)
    let attributes = try FileManager.default.attributesOfItem(atPath: log)
    #expect(attributes[.size] as? Int == (isPutAside ? 4 : size + 4))
    #expect(FileManager.default.fileExists(atPath: log + ".1") == isPutAside)
  }

  @Test func whatCannotBeStartedSaysWhy() {
    #expect(throws: ProcessLaunch.Failure.self) {
      try DetachedProcess.start("/nowhere/at/all", ["all"], log: log)
    }
    #expect(throws: ProcessLaunch.Failure.self) {
      try DetachedProcess.start("/bin/sh", ["sh", "-c", "exit 0"], log: "/nowhere/log")
    }
  }

  @Test func thisProgramIsKnown() throws {
    let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(DetachedProcess.thisExecutable() == link)
  }
}
