internal import TransferCore
internal import TransferModel

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
    for session in room.sessions() {
      let kept = room.look(at: session.id) { machine in
        (
          tasks: machine.unfinished, handover: machine.hasHandedOver ? 0 : 1,
          decisions: machine.residentTasks.count { machine.task($0.id)?.question != nil }
        )
      }
      holdings.tasks += kept?.tasks ?? 0
      holdings.decisions += kept?.decisions ?? 0
      holdings.handovers += kept?.handover ?? 0
    }
    holdings.tasks += room.directory.count
    holdings.waiters = room.waiters.count
    holdings.deadlines = room.deadlines.count
    return holdings
  }
}
