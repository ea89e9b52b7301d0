internal import HeapModule
package import TransferModel

/// Limits the restarts of tasks after crashes, so that a task that crashes every worker does not do so for ever.
///
/// When a worker crashes, each task that it was running may be the cause. A task that was running during two crashes in a row becomes a
/// suspect. Suspects are tried one at a time, so that the next crash identifies its cause. A suspect that makes progress is cleared.
package struct CrashGuard: Sendable {
  package enum Action: Sendable, Equatable {
    case start(TaskID)
    /// Too many workers crashed while the task ran (`attemptLimitReached`). The guard drops the task.
    case fail(TaskID, deaths: Int)
  }
  private struct Suspect: Comparable, Sendable {
    let deaths: Int
    let task: TaskID
    static func < (left: Suspect, right: Suspect) -> Bool {
      (left.deaths, left.task) < (right.deaths, right.task)
    }
  }

  /// The number of crashes that makes a task a suspect.
  package static let suspicion = 2
  /// The number of crashes that ends a task.
  package static let limit = 5

  /// The crash counts of all suspects: waiting for their trial, on trial, or waiting for another attempt.
  private var deaths: [TaskID: Int] = [:]
  /// The suspects that wait for their trial. The heap may contain stale entries, which are skipped at the top.
  private var queue = Heap<Suspect>()
  /// The tasks of `queue` whose entries are not stale.
  private var queued: Set<TaskID> = []
  private var actions: [Action] = []
  /// Tasks whose `start` is among the actions but no longer applies.
  private var forgotten: Set<TaskID> = []
  /// The suspect on trial.
  private var current: TaskID?

  package init() {}

  /// Whether the task is tried alone.
  package func isSuspect(_ task: TaskID) -> Bool { deaths[task] != nil }

  /// Adds an unfinished task when the worker starts.
  /// - Parameter deaths: the number of workers that crashed in a row while they ran the task, without progress of the task in between.
  package mutating func recovered(_ task: TaskID, deaths count: Int) {
    if count >= Self.limit {
      actions.append(.fail(task, deaths: count))
    } else if count >= Self.suspicion {
      deaths[task] = count
      enqueue(task, count)
    } else {
      actions.append(.start(task))
    }
  }

  /// Clears a task that made progress, and ends its trial.
  package mutating func progressed(_ task: TaskID) { forget(task) }

  /// Removes a task that has ended.
  package mutating func ended(_ task: TaskID) { forget(task) }

  /// Ends the trial of a task that now waits, for example for another attempt. The task stays a suspect.
  package mutating func endTrial(_ task: TaskID) {
    queued.remove(task)
    if current == task { current = nil }
  }

  /// Queues a waiting task to continue. `next()` returns it when it may start.
  package mutating func isDue(_ task: TaskID) {
    guard let count = deaths[task] else {
      forgotten.remove(task)
      return actions.append(.start(task))
    }
    if current != task { enqueue(task, count) }
  }

  /// Returns the actions that are due, each once. Call this after every change.
  package mutating func next() -> [Action] {
    while current == nil, let suspect = queue.popMin() {
      guard queued.remove(suspect.task) != nil else { continue }
      current = suspect.task
      actions.append(.start(suspect.task))
    }
    defer { (actions, forgotten) = ([], []) }
    return actions.filter { action in
      guard case .start(let task) = action else { return true }
      return !forgotten.contains(task)
    }
  }

  private mutating func enqueue(_ task: TaskID, _ count: Int) {
    guard queued.insert(task).inserted else { return }
    queue.insert(Suspect(deaths: count, task: task))
  }

  private mutating func forget(_ task: TaskID) {
    deaths[task] = nil
    endTrial(task)
    if !actions.isEmpty { forgotten.insert(task) }
  }
}
