/// A kind of record, by its name in messages and logs.
package enum RecordKind: String, CaseIterable, Sendable, CustomStringConvertible {
  case session, task, journal, delivery, decision, file, credential, cookie, configuration
  case endpoint
  /// Replies under an Idempotency-Key.
  case idempotency
  /// The worker's state of a task.
  case work
  case group

  package var description: String { rawValue }
}
