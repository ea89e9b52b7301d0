internal import Ledger
internal import TransferModel

/// The groups of tasks, as committed.
extension CommitHistory {
  struct GroupStory {
    var isClosed = false
    var isCompleted = false
    /// Whether the deletion of a session has begun that has tasks of the group. Its counts may then be lower.
    var isReduced = false
  }

  /// Whether a closed group is not completed.
  var awaitsGroups: Bool { groups.values.contains { $0.isClosed && !$0.isCompleted } }

  private func key(_ task: TransferTask) -> TaskGroupKey? {
    guard let name = task.group, let tenant = sessions[task.sessionID]?.session.tenant else { return nil }
    return TaskGroupKey(tenant: tenant, name: name)
  }

  /// - Parameter downloads: the downloads that continue data tasks, which stay in their groups.
  func take(groups change: LedgerChange, downloads: Set<TaskID>) {
    for task in change.createdTasks {
      guard let key = key(task) else { continue }
      if groups[key]?.isClosed == true, !downloads.contains(task.id) {
        violate(.groupsEndOnce, "\(name(task.id)) was created in the closed group \(key.name)")
      }
      groups[key, default: GroupStory()].isClosed = groups[key]?.isClosed ?? false
    }
    if let session = change.partlyDeletedSession ?? change.deletedSession {
      for id in taskOrder {
        guard let task = tasks[id]?.row, task.sessionID == session, let key = key(task) else { continue }
        groups[key]?.isReduced = true
      }
    }
    for (key, _) in change.closedGroups { groups[key]?.isClosed = true }
    for group in change.completedGroups { complete(group) }
    let ends = change.events.count { $0.type == .groupDidComplete }
    if ends != change.completedGroups.count {
      violate(.groupsEndOnce, "\(change.completedGroups.count) groups completed with \(ends) events")
    }
  }

  private func complete(_ group: TaskGroup) {
    guard let story = groups[group.key], story.isClosed else {
      return violate(.groupsEndOnce, "the group \(group.key.name) completed without being closed")
    }
    if story.isCompleted { violate(.groupsEndOnce, "the group \(group.key.name) completed twice") }
    groups[group.key]?.isCompleted = true
    guard !story.isReduced else { return }
    var counts = GroupCounts()
    for task in tasks.values.map(\.row) where key(task) == group.key { counts.add(task) }
    if counts != group.finalCounts || counts.unfinished > 0 {
      violate(.groupsEndOnce, "the group \(group.key.name) completed with wrong counts")
    }
  }
}
