import Processes

extension ProcessLock.Owner {
  /// The very process that holds the lock; nil where it has ended, or cannot be seen from here.
  var process: ProcessHandle? {
    let owner = self
    return ProcessHandle(pid: pid) { owner.isAlive }
  }
}

extension ProcessHandle {
  private static let interval = Duration.milliseconds(20)

  /// Waits until it has ended.
  /// - Returns: false where it has not by then.
  func end(before deadline: ContinuousClock.Instant) async -> Bool {
    while !hasEnded {
      guard ContinuousClock.now < deadline else { return false }
      try? await Task.sleep(for: Self.interval)
    }
    return true
  }
}
