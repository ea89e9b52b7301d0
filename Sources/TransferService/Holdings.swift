internal import Synchronization
internal import TransferCore

/// What a service keeps in memory of what is not over.
package struct Holdings: Sendable, Equatable {
  /// Tasks that have not ended, or whose end is not on the disk.
  package var tasks = 0
  package var decisions = 0
  /// Who waits for a task's end.
  package var waiters = 0
  /// Messages of background sessions that are on their way.
  package var handovers = 0
  package var deadlines = 0

  package init() {}
}

extension TransferService {
  package var holdings: Holdings {
    var holdings = Holdings()
    registry.withLock { registry in
      holdings.tasks = registry.tasks.count
      holdings.decisions = registry.decisions.count
      holdings.waiters = registry.endWaiters.count
    }
    holdings.handovers = handovers.withLock { $0.values.count { !$0.isDone } }
    holdings.deadlines = deadlines.count
    return holdings
  }
}
