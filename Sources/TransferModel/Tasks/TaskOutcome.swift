/// The outcome of an ended task.
package enum TaskOutcome: String, Sendable, CaseIterable {
  case succeeded, failed, cancelled
}

extension TransferTask {
  /// The outcome; `nil` before the end.
  package var outcome: TaskOutcome? {
    guard state == .completed else { return nil }
    guard let error else { return .succeeded }
    return error.reason == .url(.cancelled) ? .cancelled : .failed
  }
}
