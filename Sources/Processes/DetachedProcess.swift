internal import CProcess
internal import CLinux
internal import Glibc

/// Programs that nothing ties to this process: they have a session of their own, none of its descriptors and signals, and outlive it.
package enum DetachedProcess {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// POSIX_SPAWN_SETSID, which wants _GNU_SOURCE.
  private static let newSession: Int32 = 0x80

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
  ) throws(Failure) -> Int32 {
    var information = stat()
    if stat(log, &information) == 0, information.st_size > 10 << 20 { rename(log, log + ".1") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    // Whatever this process was given by its own parent, or a library has opened, without FD_CLOEXEC: who waits for the other end of
    // such a pipe to close would wait for that program as well.
    _ = cprocess_close_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(
      &attributes, Int16(Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | newSession))
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var variables = environment?.map { strdup("\($0)=\($1)") } ?? []
    variables.append(nil)
    defer { for variable in variables { free(variable) } }
    var pid: pid_t = 0
    let status = variables.withUnsafeMutableBufferPointer { variables in
      posix_spawn(
        &pid, executable, &actions, &attributes, words,
        environment == nil ? environ : variables.baseAddress)
    }
    guard status == 0 else { throw Failure(description: String(cString: strerror(status))) }
    return pid
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

  package static func terminate(_ pid: Int32) { kill(pid, SIGTERM) }
  package static func kill(_ pid: Int32) { _ = Glibc.kill(pid, SIGKILL) }
  private static func kill(_ pid: Int32, _ signal: Int32) { _ = Glibc.kill(pid, signal) }
}
