internal import CLinux
internal import Glibc

/// A named POSIX thread.
package enum POSIXThread {
  /// Runs `body` on a new, detached thread.
  package static func spawn(name: String, _ body: @escaping @Sendable () -> Void) {
    pthread_detach(start(name: name, body))
  }

  /// Runs `body` on a new thread and returns its result.
  package static func run<Result: Sendable>(
    name: String, _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      spawn(name: name) { continuation.resume(with: Swift.Result { try body() }) }
    }
  }

  /// Runs `body` on a new thread, which the caller must join.
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
