package import TransferModel

/// The part of an evicted task that stays in memory. The rest is in the task's row.
package struct EvictedTask: Sendable {
  let taskIdentifier: Int
  var beginning: TaskBeginning
  let hasBeginDate: Bool
  /// The loaded machine counts on from here, so that an eviction from before cannot match it.
  let revision: Int

  /// Nil if the machine does not only wait.
  init?(_ machine: TaskMachine) {
    guard machine.isIdle, machine.upload.token == nil else { return nil }
    beginning = machine.task.beginning
    taskIdentifier = machine.task.taskIdentifier
    hasBeginDate = machine.task.earliestBeginDate != nil
    revision = machine.revision
  }
}

/// A task that can be evicted, unless it has changed since.
package struct Eviction: Sendable, Equatable {
  package let task: TaskID
  let revision: Int

  /// Nil if the task is small, or does not only wait.
  /// - Parameter size: bytes of a small task.
  init?(of machine: TaskMachine, above size: Int) {
    guard machine.isIdle, machine.task.textSize > size else { return nil }
    task = machine.task.id
    revision = machine.revision
  }
}
