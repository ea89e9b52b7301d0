package import TransferModel

/// The part of an evicted task that stays in memory. The rest is in the task's row.
package struct EvictedTask: Sendable {
  let taskIdentifier: Int
  var firstAttempt: FirstAttemptState
  let hasBeginDate: Bool
  /// The revision from which the loaded machine continues to count, so that an earlier eviction cannot match it.
  let revision: Int
  let notBefore: ContinuousClock.Instant?

  /// `nil` unless the machine is idle.
  init?(_ machine: TaskMachine) {
    guard machine.isIdle, machine.upload.token == nil else { return nil }
    firstAttempt = machine.task.firstAttempt
    taskIdentifier = machine.task.taskIdentifier
    hasBeginDate = machine.task.earliestBeginDate != nil
    revision = machine.revision
    notBefore = machine.attempt?.notBefore
  }
}

/// A task that can be evicted, unless it has changed since.
package struct Eviction: Sendable, Equatable {
  package let task: TaskID
  let revision: Int

  /// `nil` unless the task is large and idle.
  /// - Parameter size: the bytes up to which a task counts as small.
  init?(of machine: TaskMachine, above size: Int) {
    guard machine.isIdle, machine.task.textSize > size else { return nil }
    task = machine.task.id
    revision = machine.revision
  }
}
