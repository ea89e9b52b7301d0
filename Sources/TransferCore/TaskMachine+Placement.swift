internal import TransferModel

/// The way of a received body to the task's destination: prepare a temporary file, commit its mark, rename it, commit the end.
///
/// | crash after | the next service |
/// |---|---|
/// | the commit of the outcome | prepares another temporary file |
/// | the commit of the mark | looks for a file with that mark; if there is none, prepares another temporary file |
/// | the rename | finds the file by its mark, and ends the task with it |
///
/// Ferry deletes the temporary files of a dead service before it recovers the service's tasks, so the dead service renames none of them
/// later, even if it was only frozen.
extension TaskMachine {
  /// Whether the file may get its final name at any moment, so that the task can no longer be cancelled.
  var isBeingRenamed: Bool { executionState == .placing && task.placement?.mark != nil }

  private func order(_ session: borrowing TransferSession) -> PlacementOrder? {
    guard let placement = task.placement, let destination = task.destination,
      let body = placement.outcome.body
    else { return nil }
    return PlacementOrder(
      task: id, tenant: session.tenant, destination: destination, body: body,
      key: BlobKey(id, .body, placement.outcome.blob), size: placement.outcome.size,
      earlier: InjectedFault.forgetsTheMark.isPresent ? nil : placement.mark)
  }

  /// Begins the placement of a body that was received.
  /// - Returns: `false` if the outcome has no body, or the task has no destination.
  mutating func beginPlacement(
    of outcome: TransferOutcome, _ session: borrowing TransferSession, into effects: inout SessionEffects
  ) -> Bool {
    guard task.destination != nil, outcome.error == nil, outcome.body != nil, task.state != .canceling else {
      return false
    }
    task.placement = PendingPlacement(outcome: outcome)
    clearSuspicion(into: &effects)
    place(session, into: &effects)
    return true
  }

  /// Places the body that the task has received, or that an earlier task has received for it.
  mutating func place(_ session: borrowing TransferSession, into effects: inout SessionEffects) {
    guard let order = order(session) else { return assertionFailure("there is no body to place") }
    executionState = .placing
    effects.update(task)
    effects.placements.append(.prepare(order))
  }

  /// Places a body that was received before this service had the task. A service that hands over the session leaves that to the next.
  mutating func startPlacement(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    guard !effects.isLeaving else {
      executionState = .idle(goesOn: true)
      return effects.update(task)
    }
    task.enter(.transferring, at: now.wall, session, into: &effects)
    place(session, into: &effects)
  }

  mutating func handle(
    _ report: PlacementReport, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    guard executionState == .placing, let order = order(session), var outcome = task.placement?.outcome else {
      return
    }
    switch report {
    case .prepared where task.state == .canceling:
      effects.placements.append(.discard(order))
      end(outcome, session, at: now, into: &effects)
    case .prepared(let mark):
      task.placement?.mark = mark
      effects.update(task)
      effects.renames.append(.rename(order, mark))
    case .placed(let file):
      outcome.placed = file
      outcome.endedAt = max(outcome.endedAt, now.wall)
      // The bytes have a name at the destination. Ferry's own name is deleted after the commit.
      if order.body.isFile || session.type == .ephemeral { effects.unwantedBodies.append(order.key) }
      end(outcome, session, at: now, into: &effects)
    case .failed(var error):
      error.failingURL = task.currentRequest.url
      outcome.error = error
      outcome.endedAt = max(outcome.endedAt, now.wall)
      end(outcome, session, at: now, into: &effects)
    }
  }
}
