package import JSON

/// The key of a group of tasks: its name, unique within a tenant.
package struct TaskGroupKey: Sendable, Hashable {
  package let tenant: Tenant
  @ExactText package private(set) var name: String

  package init(tenant: Tenant, name: String) { (self.tenant, self.name) = (tenant, name) }
}

/// A group of tasks, which exists from the creation of its first task.
package struct TaskGroup: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable { case open, closed, completed }

  package let key: TaskGroupKey
  package let createdAt: Timestamp
  /// The time from which the group has accepted no new tasks.
  package var closedAt: Timestamp?
  /// The time at which all tasks of the closed group had ended.
  package var completedAt: Timestamp?
  /// The counts at the end of the group; `nil` before it.
  package var finalCounts: GroupCounts?

  package init(_ key: TaskGroupKey, createdAt: Timestamp) { (self.key, self.createdAt) = (key, createdAt) }

  package var state: State { completedAt != nil ? .completed : closedAt != nil ? .closed : .open }

  /// Writes the members that clients see.
  package func encodeMembers(into writer: inout JSONWriter, _ counts: GroupCounts) {
    writer.field("name", key.name)
    writer.field("state", state.rawValue)
    counts.encodeMembers(into: &writer)
    writer.field("createdAt", createdAt)
    writer.field("closedAt", closedAt)
    writer.field("completedAt", completedAt)
  }
}

/// The numbers of a group's tasks by state and outcome, and their bytes.
package struct GroupCounts: Sendable, Equatable {
  package var suspended = 0
  package var running = 0
  package var canceling = 0
  package var succeeded = 0
  package var failed = 0
  package var cancelled = 0
  package var countOfBytesSent: Int64 = 0
  package var countOfBytesReceived: Int64 = 0

  package init() {}

  package var unfinished: Int { suspended + running + canceling }
  package var tasks: Int { unfinished + succeeded + failed + cancelled }

  /// Adds a task. A data task that became a download counts as that download only.
  package mutating func add(_ task: TransferTask) {
    guard task.downloadTask == nil else { return }
    add(
      1, task.state, task.outcome, sent: task.progress.countOfBytesSent,
      received: task.progress.countOfBytesReceived)
  }

  /// Adds tasks of one state and outcome.
  package mutating func add(
    _ count: Int, _ state: TaskState, _ outcome: TaskOutcome?, sent: Int64, received: Int64
  ) {
    switch (state, outcome) {
    case (.suspended, _): suspended += count
    case (.running, _): running += count
    case (.canceling, _): canceling += count
    case (.completed, .succeeded?): succeeded += count
    case (.completed, .cancelled?): cancelled += count
    case (.completed, _): failed += count
    }
    countOfBytesSent += sent
    countOfBytesReceived += received
  }

  /// Adds the counts of other tasks.
  package static func + (left: Self, right: Self) -> Self {
    var sum = left
    sum.suspended += right.suspended
    sum.running += right.running
    sum.canceling += right.canceling
    sum.succeeded += right.succeeded
    sum.failed += right.failed
    sum.cancelled += right.cancelled
    sum.countOfBytesSent += right.countOfBytesSent
    sum.countOfBytesReceived += right.countOfBytesReceived
    return sum
  }

  func encodeMembers(into writer: inout JSONWriter) {
    encodeTasks(into: &writer)
    writer.field("countOfBytesSent", countOfBytesSent)
    writer.field("countOfBytesReceived", countOfBytesReceived)
  }

  /// Writes the member `tasks`: the counts by state and outcome.
  package func encodeTasks(into writer: inout JSONWriter) {
    writer.objectField("tasks") { writer in
      writer.field("suspended", suspended)
      writer.field("running", running)
      writer.field("canceling", canceling)
      writer.field("succeeded", succeeded)
      writer.field("failed", failed)
      writer.field("cancelled", cancelled)
    }
  }
}
