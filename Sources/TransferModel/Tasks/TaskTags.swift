/// The group and the labels of a task, or the group of an event. Streams select events by them.
package struct TaskTags: Sendable, Equatable {
  package var group: String?
  package var labels: [TaskLabel]

  package init(group: String?, labels: [TaskLabel] = []) { (self.group, self.labels) = (group, labels) }

  /// Whether neither a group nor a label is given.
  package var isEmpty: Bool { group == nil && labels.isEmpty }

  /// Returns whether `tags` have this group, if one is given, and all of these labels.
  package func select(_ tags: TaskTags?) -> Bool {
    if let group, tags?.group.map({ ExactText(wrappedValue: $0) }) != ExactText(wrappedValue: group) {
      return false
    }
    return labels.allSatisfy { tags?.labels.contains($0) == true }
  }
}

extension TransferTask {
  /// The task's group and labels; `nil` if it has neither.
  package var tags: TaskTags? {
    guard group != nil || !labels.isEmpty else { return nil }
    return TaskTags(group: group, labels: labels)
  }
}
