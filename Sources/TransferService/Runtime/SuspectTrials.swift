internal import Synchronization
internal import TransferCore
internal import TransferModel

/// The queue of tasks that may have crashed services. It tries one at a time, so that the next crash identifies its cause.
final class SuspectTrials: Sendable {
  private let queue = Mutex(CrashGuard())

  /// Applies changes.
  /// - Returns: the tasks whose trial begins now.
  func apply(_ changes: [SessionEffects.TrialChange]) -> [TaskID] {
    guard !changes.isEmpty else { return [] }
    return queue.withLock { queue in
      for change in changes {
        switch change {
        case .wanted(let task, let deaths): queue.recovered(task, deaths: deaths)
        case .over(let task): queue.ended(task)
        }
      }
      return queue.next().compactMap { if case .start(let task) = $0 { task } else { nil } }
    }
  }
}
