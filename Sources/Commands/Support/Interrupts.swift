internal import EventLoop
internal import Glibc
internal import Processes

private nonisolated(unsafe) var wakeupPipe: Int32 = -1
private nonisolated(unsafe) var signalCount: Int32 = 0

/// SIGINT, SIGTERM and SIGHUP of a command that cleans up. A second one ends the process at once.
enum Interrupts {
  /// Returns a stream that ends at the first signal.
  static func first() -> AsyncStream<Never> {
    let (stream, end) = AsyncStream.makeStream(of: Never.self)
    trap { end.finish() }
    return stream
  }

  /// Calls `action` on a thread of its own at the first signal.
  private static func trap(_ action: @escaping @Sendable () -> Void) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    wakeupPipe = ends[1]
    let reading = ends[0]
    for number in [SIGINT, SIGTERM, SIGHUP] {
      // `nohup` lets a command ignore SIGHUP.
      var present = sigaction()
      sigaction(number, nil, &present)
      if number == SIGHUP, unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self) == 1 {
        continue
      }
      signal(number) { _ in
        signalCount += 1
        if signalCount > 1 { _exit(130) }
        var byte: UInt8 = 1
        _ = write(wakeupPipe, &byte, 1)
      }
    }
    POSIXThread.spawn(name: "interrupts") {
      var byte: UInt8 = 0
      while read(reading, &byte, 1) < 0, errno == EINTR {}
      action()
    }
  }
}
