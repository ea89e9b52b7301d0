package import TransferModel

/// The changes that a client makes to a task. `nil` keeps a member, and an inner `nil` removes its value.
package struct TaskPatch: Sendable {
  package var priority: Double?
  package var description: String??
  package var earliestBeginDate: Timestamp??
  /// Bytes per second.
  package var maximumBytesPerSecond: Int??
  package var countOfBytesClientExpectsToSend: Int64?
  package var countOfBytesClientExpectsToReceive: Int64?
  /// The new request, with all values that the client has kept.
  package var request: RequestChange?
  package init() {}

  package func applied(to task: TransferTask) -> TransferTask {
    var task = task
    if let priority { task.priority = priority }
    if let description { task.description = description }
    if let earliestBeginDate { task.earliestBeginDate = earliestBeginDate }
    if let maximumBytesPerSecond { task.maximumBytesPerSecond = maximumBytesPerSecond }
    if let count = countOfBytesClientExpectsToSend {
      task.preferences.countOfBytesClientExpectsToSend = count
    }
    if let count = countOfBytesClientExpectsToReceive {
      task.preferences.countOfBytesClientExpectsToReceive = count
    }
    if let request { task.apply(request) }
    return task
  }
}
