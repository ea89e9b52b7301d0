internal import CLinux
internal import CProcess
internal import Glibc

/// A named POSIX thread.
package enum Thread {
  /// Runs `body` on a new, detached thread.
  package static func spawn(name: String, _ body: @escaping @Sendable () -> Void) {
    pthread_detach(start(name: name, body))
  }

  /// Runs `body` on a new thread that somebody joins.
  static func start(name: String, _ body: @escaping @Sendable () -> Void) -> pthread_t {
    final class Box {
      let name: String
      let body: @Sendable () -> Void
      init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
      }
    }
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        let box = Unmanaged<Box>.fromOpaque(context!).takeRetainedValue()
        clinux_set_thread_name(box.name)
        box.body()
        return nil
      }, Unmanaged.passRetained(Box(name, body)).toOpaque())
    precondition(status == 0, "pthread_create: \(status)")
    return thread
  }
}

/// What the process may use.
package enum ProcessLimits {
  /// Where the process dies by its own fault (a trap, a bad access, an abort), it leaves an empty file at `path`.
  package static func markCrashes(at path: String) { cprocess_mark_crashes(path) }

  /// Leaves no core file behind: memory holds what nobody is to read.
  package static func forbidCoreFiles() { clinux_forbid_core_files() }
}
