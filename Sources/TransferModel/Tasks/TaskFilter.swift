/// A filter of tasks. A task must match all members that are given.
package struct TaskFilter: Sendable, Equatable {
  package var kind: TaskKind?
  package var state: TaskState?
  package var outcome: TaskOutcome?
  package var group: String?
  package var labels: [TaskLabel] = []
  /// Whether the task must be suspended and have received no command since its creation. `false` selects nothing.
  package var isNeverResumed = false
  /// The earliest time of creation.
  package var since: Timestamp?
  package var id: ShortTaskID?
  /// The wanted URLs of the original request.
  package var url: Glob?
  package var urlPrefix: String?
  /// A part of the description.
  package var description: String?

  package init() {}

  /// Whether no member is given.
  package var isEmpty: Bool { self == TaskFilter() }

  /// Whether the ledger cannot evaluate the filter, because it must read sealed documents.
  package var searchesTexts: Bool {
    url != nil || urlPrefix != nil || description != nil || labels.count > 1
  }

  /// Returns whether a task matches the members that a ledger finds without sealed documents.
  /// - Parameter isUntouched: whether the task has received no command since its creation.
  package func matchesColumns(of task: TransferTask, isUntouched: Bool) -> Bool {
    if let kind, task.kind != kind { return false }
    if let state, task.state != state { return false }
    if let outcome, task.outcome != outcome { return false }
    if !TaskTags(group: group, labels: Array(labels.prefix(1))).select(task.tags) { return false }
    if isNeverResumed, task.state != .suspended || !isUntouched { return false }
    if let since, task.createdAt < since { return false }
    return id?.matches(task.id) ?? true
  }

  /// Returns whether a task matches the members that need its sealed documents.
  package func matchesTexts(of task: TransferTask) -> Bool {
    let address = task.originalRequest.url
    if let url, !url.matches(address) { return false }
    if let urlPrefix, !address.utf8.starts(with: urlPrefix.utf8) { return false }
    if let description, task.description?.utf8.contains(sequence: description.utf8) != true { return false }
    return labels.dropFirst().allSatisfy { task.labels.contains($0) }
  }

  /// The cost of searching the texts of a task: 1 for up to a KiB.
  package static func searchCost(of task: TransferTask) -> Int {
    1 + (task.originalRequest.url.utf8.count + (task.description?.utf8.count ?? 0)) / 1024
  }
}

extension String.UTF8View {
  fileprivate func contains(sequence other: String.UTF8View) -> Bool {
    // A glob without special bytes between two stars is the same search.
    Glob.find(Array(other), in: Array(self))
  }
}
