import Foundation
import TestSupport
import Testing

@testable import Processes

@Suite(.blocking, .endsInTime) struct DetachedProcessTests {
  private let log = TemporaryDirectory.make("ferry-detached") + "/log"

  private func start(_ script: String) throws -> Int32 {
    try DetachedProcess.start("/bin/sh", ["sh", "-c", script], log: log)
  }

  /// Waits until the child has ended, without reaping it.
  private func waitForEnd(of pid: Int32) {
    var information = siginfo_t()
    while waitid(P_PID, UInt32(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  }

  /// Runs a script and returns the lines that it writes to its log.
  private func run(_ script: String) throws -> [String] {
    let pid = try start(script)
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid) == 0)
    return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test func `started program leads a session of its own`() throws {
    // /proc/…/stat: pid, name, state, parent, group, session.
    let lines = try run("echo $$; cut -d ' ' -f 6 /proc/self/stat")
    #expect(lines.count == 2 && lines.first == lines.last)
  }

  @Test func `running program is not reaped`() throws {
    let pid = try DetachedProcess.start("/bin/sleep", ["sleep", "1000"], log: log)
    #expect(getsid(pid) == pid)
    #expect(DetachedProcess.reap(pid) == nil)
    #expect(ProcessHandle(pid: pid) { true }?.send(.kill) == 0)
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid).map { $0 & 0x7F } == SIGKILL)
    #expect(DetachedProcess.reap(pid) == nil)
  }

  @Test func `running program ends at SIGTERM`() throws {
    let pid = try DetachedProcess.start("/bin/sleep", ["sleep", "1000"], log: log)
    #expect(ProcessHandle(pid: pid) { true }?.send(.terminate) == 0)
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid).map { $0 & 0x7F } == SIGTERM)
  }

  @Test func `reap returns the exit status`() throws {
    let pid = try start("exit 7")
    waitForEnd(of: pid)
    #expect(DetachedProcess.reap(pid) == 7 << 8)
  }

  @Test func `processes that are not children are not reaped`() {
    #expect(DetachedProcess.reap(getpid()) == nil)
    #expect(DetachedProcess.reap(1) == nil)
  }

  /// Neither descriptors with FD_CLOEXEC nor those without it.
  @Test func `started program inherits no descriptors`() throws {
    var pipes: [Int32] = [-1, -1]
    #expect(pipe(&pipes) == 0)
    defer { for descriptor in pipes { close(descriptor) } }
    #expect(fcntl(pipes[0], F_GETFD) & FD_CLOEXEC == 0)
    #expect(try run("ls /proc/$$/fd; exit 0") == ["0", "1", "2"])
  }

  @Test func `started program reads nothing and writes to the log`() throws {
    let lines = try run("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; cat; echo error >&2")
    let file = URL(fileURLWithPath: log).standardizedFileURL.path
    #expect(lines == ["/dev/null", file, file, "error"])
    let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `started program blocks and ignores no signals`() throws {
    let previous = signal(SIGHUP, SIG_IGN)
    defer { signal(SIGHUP, previous) }
    let masks = try run("grep -E 'Sig(Blk|Ign)' /proc/self/status").map { line in
      UInt64(line.split(separator: "\t").last ?? "", radix: 16)
    }
    // The C library handles SIGCANCEL and SIGSETXID itself.
    #expect(masks.map { $0.map { $0 & ~0x1_8000_0000 } } == [0, 0])
  }

  @Test func `second program appends to the log`() throws {
    _ = try run("echo first")
    #expect(try run("echo second") == ["first", "second"])
  }

  @Test(arguments: [(10 << 20, false), ((10 << 20) + 1, true)] as [(Int, Bool)])
  func `large log is renamed before the start`(_ size: Int, _ isPutAside: Bool) throws {
    #expect(FileManager.default.createFile(atPath: log, contents: nil))
    #expect(truncate(log, size) == 0)
    let pid = try start("echo new")
    waitForEnd(of: pid)
    _ = DetachedProcess.reap(pid)
    let attributes = try FileManager.default.attributesOfItem(atPath: log)
    #expect(attributes[.size] as? Int == (isPutAside ? 4 : size + 4))
    #expect(FileManager.default.fileExists(atPath: log + ".1") == isPutAside)
  }

  @Test func `failed start throws`() {
    #expect(throws: ProcessLaunch.Failure.self) {
      try DetachedProcess.start("/nowhere/at/all", ["all"], log: log)
    }
    #expect(throws: ProcessLaunch.Failure.self) {
      try DetachedProcess.start("/bin/sh", ["sh", "-c", "exit 0"], log: "/nowhere/log")
    }
  }

  @Test func `path of this executable is found`() throws {
    let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(DetachedProcess.thisExecutable() == link)
  }
}
