internal import Limits

/// The limits that a service's settings set for its sessions and tasks.
package struct ServiceLimits: Sendable {
  /// Unfinished tasks of one session.
  package var unfinishedTasks = Limits.unfinishedTasks.value
  /// The largest body, in bytes, that is stored in its task's row.
  package var smallBodyLimit = 32 * 1024
  /// The client's bytes of a waiting task that stays in memory. Larger tasks are evicted and read from their rows.
  package var residentTaskBytes = 1024
  /// The client's bytes of all submitted large tasks of a session.
  package var submittedTaskBytes = Limits.submittedTaskBytes.value
  /// Seconds before the first attempt to deliver a webhook message.
  package var firstDeliveryDelay = 0.0
  package init() {}
}
