package import TransferModel

/// The attempts of a worker, by task id.
package struct AttemptTable: Sendable {
  private var attempts: [TaskID: AttemptMachine] = [:]
  /// The sessions with at least one attempt, each with the number of its attempts.
  private var sessions: [SessionID: (session: TransferSession, attempts: Int)] = [:]

  package var isEmpty: Bool { attempts.isEmpty }
  package var count: Int { attempts.count }

  package subscript(id: TaskID) -> AttemptMachine? { attempts[id] }

  /// Returns the whole session; `nil` if only its outline is known. All attempts of a session share one copy.
  /// - Parameter row: the session as read from its row, if it was read.
  func whole(_ session: TransferSession, _ row: TransferSession?) -> TransferSession? {
    sessions[session.id]?.session ?? row ?? (session.isOutline ? nil : session)
  }

  /// Adds an attempt, or replaces the task's earlier one.
  mutating func insert(_ attempt: AttemptMachine) {
    guard attempts.updateValue(attempt, forKey: attempt.id) == nil else { return }
    sessions[attempt.session.id, default: (attempt.session, 0)].attempts += 1
  }

  mutating func remove(_ id: TaskID) -> AttemptMachine? {
    guard let attempt = attempts.removeValue(forKey: id) else { return nil }
    let session = attempt.session.id
    sessions[session]?.attempts -= 1
    if sessions[session]?.attempts == 0 { sessions[session] = nil }
    return attempt
  }

  /// Changes an attempt in place, if the table has it.
  mutating func change(_ id: TaskID, _ body: (inout AttemptMachine) -> Void) {
    guard let index = attempts.index(forKey: id) else { return }
    body(&attempts.values[index])
  }
}
