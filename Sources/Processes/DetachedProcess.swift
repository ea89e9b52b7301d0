internal import CLinux
internal import CProcess
internal import Glibc

/// A program that outlives this process. It has its own session and inherits no descriptors or signals.
package enum DetachedProcess {
  /// Returns the path of this program's file. An upgrade may replace the file.
  package static func thisExecutable() -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  /// Returns a stamp that distinguishes the running program's file from later files at its path.
  package static func executableStamp() -> String {
    var information = stat()
    guard stat("/proc/self/exe", &information) == 0 else { return "" }
    let time = information.st_mtim
    return "\(information.st_size) \(time.tv_sec) \(time.tv_nsec)"
  }

  /// Returns whether a program with this wait status (waitpid(2)) ended by a crash.
  package static func isFault(_ status: Int32) -> Bool {
    [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT].contains(status & 0x7F)
  }

  /// Starts a program.
  /// - Parameters:
  ///   - arguments: the arguments, with the program's name first.
  ///   - environment: the environment variables; `nil` to inherit them.
  ///   - log: the file to which standard output and error are appended. A file above 10 MiB is renamed to `.1` first.
  /// - Returns: the process id.
  package static func start(
    _ executable: String, _ arguments: [String], environment: [String: String]? = nil, log: String
  ) throws(ProcessLaunch.Failure) -> Int32 {
    var information = stat()
    if stat(log, &information) == 0, information.st_size > 10 << 20 { rename(log, log + ".1") }
    var launch = ProcessLaunch(executable, arguments)
    launch.environment = environment
    (launch.output, launch.error) = (.appending(to: log), .sameAsOutput)
    launch.leads = .session
    return try launch.start()
  }

  /// Returns the wait status of a child that has ended; `nil` if it runs or is not a child of this process.
  package static func reap(_ pid: Int32) -> Int32? {
    var status: Int32 = 0
    return waitpid(pid, &status, WNOHANG) == pid ? status : nil
  }

  /// Returns the children that have ended, with their wait statuses. If this is the first process of a container, they include orphans that
  /// it has adopted.
  package static func reapAll() -> [(pid: Int32, status: Int32)] {
    var ended: [(Int32, Int32)] = []
    var status: Int32 = 0
    while case let pid = waitpid(-1, &status, WNOHANG), pid > 0 { ended.append((pid, status)) }
    return ended
  }
}
