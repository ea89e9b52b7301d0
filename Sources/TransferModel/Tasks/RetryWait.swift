/// The wait of a background task between a failed attempt and the next one.
package struct RetryWait: Sendable, Equatable {
  /// How the last attempt failed.
  package let lastError: TransferError
  /// The next attempt begins no earlier.
  package let nextAttemptAt: Timestamp

  package init(lastError: TransferError, nextAttemptAt: Timestamp) {
    self.lastError = lastError
    self.nextAttemptAt = nextAttemptAt
  }
}
