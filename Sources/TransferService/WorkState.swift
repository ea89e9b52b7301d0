internal import TransferModel

/// How far a background task has come where it is carried out. A row of the store, sealed.
struct WorkState: Codable, Sendable, Equatable {
  enum Cancellation: String, Codable, Sendable {
    case keepingPartial, droppingPartial
  }

  /// Attempts that were begun, but for those that ended with their process; and those that were followed by another.
  var attempts = 0
  var retries = 0
  /// Attempts that failed since one got further than those before it.
  var failures = 0
  /// From here on it goes on from `partial`, and not from what the client gave.
  var hasAttempted = false
  var isSuspended = false
  /// It was cancelled, and is to end so; whether what it has got is kept for resume data.
  var cancellation: Cancellation?
  /// The begin date has come and was told.
  var hasBegun = false
  /// When the first attempt began: timeoutIntervalForResource counts from here.
  var startedAt: Timestamp?
  /// The next attempt is not before then, and was so many seconds away.
  var retryAt: Timestamp?
  var retryDelay: Double?
  /// What is on the disk to go on from.
  var partial: ResumePoint?
  /// It was under way when this was written.
  var isActive = false
  /// Processes that crashed while they carried it out: in a row, without it having lived for long in between, and in all.
  var deaths = 0
  var crashes = 0

  /// What it looks like from outside.
  var phase: TaskPhase { isActive ? .transferring : retryAt == nil ? .queued : .waitingToRetry }
}
