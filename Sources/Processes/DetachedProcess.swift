internal import CLinux
internal import CProcess
internal import Glibc

/// Programs that nothing ties to this process: they have a session of their own, none of its descriptors and signals, and outlive it.
package enum DetachedProcess {
  /// This program's file, as it is now: an upgrade may put another in its place.
  package static func thisExecutable() -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  /// Tells this program's file, as it was when it was started, from those that take its place.
  package static func executableStamp() -> String {
    var information = stat()
    guard stat("/proc/self/exe", &information) == 0 else { return "" }
    let time = information.st_mtim
    return "\(information.st_size) \(time.tv_sec) \(time.tv_nsec)"
  }

  /// Whether a program that ended with that status (waitpid(2)) did so by a fault of its own.
  package static func isFault(_ status: Int32) -> Bool {
    [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT].contains(status & 0x7F)
  }

  /// Starts a program.
  /// - Parameters:
  ///   - arguments: its own name first.
  ///   - environment: its variables; nil: this process's.
  ///   - log: gets what it writes to standard output and error, behind what is there; above ten mebibytes that is put aside as `.1`.
  /// - Returns: its pid.
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

  /// The status of a child that has ended; nil while it has not, or where it is nobody's child here.
  package static func reap(_ pid: Int32) -> Int32? {
    var status: Int32 = 0
    return waitpid(pid, &status, WNOHANG) == pid ? status : nil
  }

  /// The children that have ended, each with its status: those that were started here, and those that others left to this process,
  /// which as the first of a container has them all.
  package static func reapAll() -> [(pid: Int32, status: Int32)] {
    var ended: [(Int32, Int32)] = []
    var status: Int32 = 0
    while case let pid = waitpid(-1, &status, WNOHANG), pid > 0 { ended.append((pid, status)) }
    return ended
  }
}
