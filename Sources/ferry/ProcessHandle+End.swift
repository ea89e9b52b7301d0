import Processes

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
