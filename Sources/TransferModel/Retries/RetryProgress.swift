/// The attempts of a task that the service retries. The worker has `WorkState` for the same purpose.
package struct RetryProgress: AttemptProgress, Sendable, Equatable {
  /// The attempts begun, without those that another service continued.
  package var attempts = 0
  /// The number of failed attempts since one got further than all earlier ones.
  package var failures = 0
  /// The highest byte offset that an attempt reached.
  package var furthest: Int64 = 0
  /// Whether an attempt was running when the row was written.
  package var isActive = false
  /// The services that ended in a row during an attempt, without an attempt that lasted in between.
  package var deaths = 0
  /// The delay of the next attempt in seconds, when it was set; `nil` if the task does not wait for an attempt.
  package var delay: Double?
  /// The start of the first attempt, from which `timeoutIntervalForResource` counts.
  package var startedAt: Timestamp?
  /// The time of the suspension; `nil` if the task is not suspended.
  package var suspendedAt: Timestamp?
  /// Read from rows of earlier versions only. `TransferTask.startRequest` has replaced it.
  package var request: TransferRequest?
  /// The seconds left of `timeoutIntervalForResource` when the attempt began. Not stored.
  package var timeLeft: Double?

  package init() {}
}
