import Processes

extension ProcessHandle {
  private static let interval = Duration.milliseconds(20)

  /// Waits until the process has ended.
  /// - Returns: `false` if it has not ended by the deadline.
  func end(before deadline: ContinuousClock.Instant) async -> Bool {
    while !hasEnded {
      guard ContinuousClock.now < deadline else { return false }
      try? await Task.sleep(for: Self.interval)
    }
    return true
  }
}
