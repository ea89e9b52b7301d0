internal import TransferCore
internal import TransferModel

/// Counts of what a service keeps in memory.
package struct ServiceStatistics: Sendable, Equatable {
  /// Tasks that have not ended, or whose end is not committed.
  package var tasks = 0
  package var decisions = 0
  /// Requests that wait for a task's end or for the head of its response.
  package var waiters = 0
  /// Background sessions with undelivered messages.
  package var pendingDeliveries = 0
  package var deadlines = 0

  package init() {}
}

extension TransferService {
  package var statistics: ServiceStatistics {
    var statistics = ServiceStatistics()
    for session in runtime.sessions() {
      let kept = runtime.read(at: session.id) { machine in
        (
          tasks: machine.unfinished, pendingDeliveries: machine.hasDeliveredAll ? 0 : 1,
          decisions: machine.residentTasks.count { machine.task($0.id)?.question != nil }
        )
      }
      statistics.tasks += kept?.tasks ?? 0
      statistics.decisions += kept?.decisions ?? 0
      statistics.pendingDeliveries += kept?.pendingDeliveries ?? 0
    }
    statistics.tasks += runtime.directory.count
    statistics.waiters = runtime.waiters.count
    statistics.deadlines = runtime.deadlines.count
    return statistics
  }
}
