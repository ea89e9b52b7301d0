package import TransferModel

/// The attempts of a worker by their tasks' ids.
package struct AttemptTable: Sendable {
  private var attempts: [TaskID: AttemptMachine] = [:]

  package var isEmpty: Bool { attempts.isEmpty }
  package var count: Int { attempts.count }

  package subscript(id: TaskID) -> AttemptMachine? { attempts[id] }

  mutating func insert(_ attempt: AttemptMachine) { attempts[attempt.id] = attempt }

  mutating func remove(_ id: TaskID) -> AttemptMachine? { attempts.removeValue(forKey: id) }

  /// Changes one in its place, where it is there.
  mutating func change(_ id: TaskID, _ body: (inout AttemptMachine) -> Void) {
    guard let index = attempts.index(forKey: id) else { return }
    body(&attempts.values[index])
  }
}
