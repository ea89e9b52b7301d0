extension TaskGroup {
  /// The event that reports the end of the group; `nil` before the end. Its data are the group's name, state, counts and times.
  package var completionEvent: TransferEvent? {
    guard let completedAt else { return nil }
    return TransferEvent(.groupDidComplete, at: completedAt, session: .ofGroups, .groupCompleted(self))
  }
}

extension TransferEvent {
  /// The group that the event is about; `nil` for an event of a task or a session.
  package var groupTags: TaskTags? {
    if case .groupCompleted(let group) = payload { TaskTags(group: group.key.name) } else { nil }
  }
}

extension ID where Kind == SessionKind {
  /// The session of the events of groups, which belong to no session.
  package static var ofGroups: Self { Self(high: 0, low: 1) }
}
