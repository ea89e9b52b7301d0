internal import CLinux
internal import CProcess
internal import Glibc

/// A program to be started (posix_spawn(3)). It inherits only the streams and variables named here, and none of this process's descriptors,
/// signal handlers and blocked signals.
package struct ProcessLaunch {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// The source or target of a standard stream.
  package enum Stream {
    /// `/dev/null`.
    case nothing
    /// The stream of this process.
    case inherited
    /// A descriptor of this process other than its standard streams.
    case descriptor(Int32)
    /// The same as standard output; for standard error.
    case sameAsOutput
    /// The end of a file, which is created with mode 0600 if it is missing.
    case appending(to: String)
  }

  /// The group or session that the program leads. Signals for this process's group or terminal do not reach it.
  package enum Leadership { case group, session }

  /// The program's file.
  package var executable: String
  /// The arguments, with the program's name first.
  package var arguments: [String]
  /// The environment variables; `nil` to inherit them.
  package var environment: [String: String]?
  /// The working directory; `nil` to inherit it.
  package var directory: String?
  package var input = Stream.nothing
  package var output = Stream.nothing
  package var error = Stream.nothing
  package var leads = Leadership.group

  package init(_ executable: String, _ arguments: [String]) {
    self.executable = executable
    self.arguments = arguments
  }

  /// `POSIX_SPAWN_SETSID`, which the headers declare only with `_GNU_SOURCE`.
  private static let newSession: Int16 = 0x80

  /// Starts the program.
  /// - Returns: the process id.
  package func start() throws(Failure) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let directory { _ = cprocess_chdir(&actions, directory) }
    for (number, stream) in [input, output, error].enumerated() {
      stream.add(to: &actions, as: Int32(number))
    }
    // Closes descriptors without FD_CLOEXEC, from the parent or a library. An inherited end of a pipe would keep its reader waiting until
    // the program ends.
    _ = cprocess_close_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    let place = leads == .group ? Int16(POSIX_SPAWN_SETPGROUP) : Self.newSession
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | place)
    let words = CStrings(arguments)
    let variables = environment.map { CStrings($0.map { "\($0)=\($1)" }) }
    var pid: pid_t = 0
    let status = posix_spawn(
      &pid, executable, &actions, &attributes, words.pointers, variables?.pointers ?? environ)
    guard status == 0 else { throw Failure(description: String(cString: strerror(status))) }
    withExtendedLifetime((words, variables)) {}
    return pid
  }
}

extension ProcessLaunch.Stream {
  fileprivate func add(to actions: inout posix_spawn_file_actions_t, as number: Int32) {
    switch self {
    case .nothing: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    case .inherited: break
    case .descriptor(let descriptor):
      // The standard descriptors may have been replaced by then.
      assert(descriptor > 2)
      posix_spawn_file_actions_adddup2(&actions, descriptor, number)
    case .sameAsOutput:
      assert(number == 2)
      posix_spawn_file_actions_adddup2(&actions, 1, number)
    case .appending(let path):
      posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    }
  }
}

/// Strings in the form of execve(2): an array that ends with a null pointer.
private final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ texts: [String]) {
    count = texts.count
    pointers = .allocate(capacity: count + 1)
    pointers.initialize(repeating: nil, count: count + 1)
    for (index, text) in texts.enumerated() { pointers[index] = strdup(text) }
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
