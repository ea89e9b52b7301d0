/// The wait of a task between a failed attempt and the next one.
package struct RetryWait: Sendable, Equatable {
  /// The error of the last attempt.
  package let lastError: TransferError
  /// The earliest start of the next attempt.
  package let nextAttemptAt: Timestamp

  package init(lastError: TransferError, nextAttemptAt: Timestamp) {
    self.lastError = lastError
    self.nextAttemptAt = nextAttemptAt
  }
}
