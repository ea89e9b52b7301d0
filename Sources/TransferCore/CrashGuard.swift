internal import HeapModule
package import TransferModel

/// Which tasks go on after a worker's death, so that one that kills every worker does not do so for ever.
///
/// When a worker dies, each task that it was carrying out may have been the reason. Those under which two workers in a row died
/// become suspects and are tried one at a time: whichever the next death meets is the one that was being tried. The others
/// get further meanwhile, which clears them.
package struct CrashGuard: Sendable {
  package enum Action: Sendable, Equatable {
    case start(TaskID)
    /// Too many workers died under it (`attemptLimitReached`). It is forgotten here.
    case fail(TaskID, deaths: Int)
  }
  private struct Suspect: Comparable, Sendable {
    let deaths: Int
    let task: TaskID
    static func < (left: Suspect, right: Suspect) -> Bool {
      (left.deaths, left.task) < (right.deaths, right.task)
    }
  }

  /// Deaths from which on a task is a suspect.
  package static let suspicion = 2
  /// Deaths from which on a task fails.
  package static let limit = 5

  /// Deaths of the suspects: those that are to be tried, the one that is, and those that wait for another attempt.
  private var deaths: [TaskID: Int] = [:]
  /// Suspects to be tried; those that are none any more stay until they come to the top.
  private var queue = Heap<Suspect>()
  /// Those of the queue that are still to be tried.
  private var queued: Set<TaskID> = []
  private var actions: [Action] = []
  /// Those whose start is among the actions, and means nothing any more.
  private var forgotten: Set<TaskID> = []
  /// The suspect that is being tried.
  private var current: TaskID?

  package init() {}

  /// Whether the task is one of those that are tried one at a time.
  package func isSuspect(_ task: TaskID) -> Bool { deaths[task] != nil }

  /// At the worker's start: an unfinished task.
  /// - Parameter deaths: of workers, in a row, that died while they carried it out, without it having got further in between.
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

  /// The task got further: its deaths are over, and the next suspect's turn has come.
  package mutating func progressed(_ task: TaskID) { forget(task) }

  /// The task has ended, in whatever way.
  package mutating func ended(_ task: TaskID) { forget(task) }

  /// The task does nothing until later (another attempt, a network), without having got further: it leaves its turn to the next
  /// suspect and stays one itself.
  package mutating func waits(_ task: TaskID) {
    queued.remove(task)
    if current == task { current = nil }
  }

  /// A waiting task is to go on; `next()` starts it when it may.
  package mutating func isDue(_ task: TaskID) {
    guard let count = deaths[task] else {
      forgotten.remove(task)
      return actions.append(.start(task))
    }
    if current != task { enqueue(task, count) }
  }

  /// What is to be done now; each action is told once. To be asked after every change.
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
    waits(task)
    if !actions.isEmpty { forgotten.insert(task) }
  }
}
