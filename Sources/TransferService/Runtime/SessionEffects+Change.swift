internal import JSON
internal import Ledger
internal import TransferCore
internal import TransferModel

extension LedgerChange {
  /// Makes the ledger's change from a transition.
  /// - Parameters:
  ///   - endpoints: makes the deliveries to the tenant's endpoints.
  ///   - store: computes the destinations of messages.
  init(_ step: SessionTransition, _ endpoints: EndpointDeliveries, _ store: any Ledger) {
    guard !step.effects.isProgressOnly || !step.attempts.isEmpty else {
      self.init(progress: step.effects.events, of: step.effects.session, step.effects.tags)
      return
    }
    self.init()
    owner = step.effects.session
    if let session = step.effects.sessionRow { sessions = [session] }
    if let last = step.effects.lastIdentifier { lastIdentifiers = [step.effects.session: last] }
    createdTasks = step.effects.created
    updatedTasks = step.effects.updated
    editedTasks = step.effects.respecified
    for (task, bytes) in step.effects.smallBodies { smallBodies[task] = bytes }
    (events, tags) = (step.effects.events, step.effects.tags)
    newDeliveries =
      step.effects.messages.compactMap { message in
        WebhookDelivery(message, of: step.session, in: store).map { endpoints.delayed($0) }
      }
      + endpoints.deliveries(of: step.effects.events, for: step.session.tenant)
    updatedDeliveries = step.attempts
    newDecisions = step.effects.newDecisions.compactMap { Decision($0) }
    settledDecisions = step.effects.decisionOutcomes.map {
      SettledDecision(
        id: $0.id, session: step.effects.session, state: $0.state, answer: $0.answer, answerTag: $0.tag)
    }
    commands = step.effects.workerCommands.map { BackgroundCommand($0).stored(for: step.effects.session) }
    consumedReports = step.effects.takenNews.ranges
    if step.creation != nil, !InjectedFault.admitsTasksOfClosedGroups.isPresent {
      // A download that continues a data task stays in its group. Only a client's new tasks are refused.
      let groups = Set(createdTasks.compactMap(\.group)).sorted()
      conditions += groups.map { .groupOpen(TaskGroupKey(tenant: step.session.tenant, name: $0)) }
    }
    answer(step.creation?.reply(step.effects.created), about: step.effects.session)
  }
}

extension Decision {
  /// Makes the stored decision. Returns `nil` if the event asks for no decision.
  init?(_ decision: SessionEffects.NewDecision) {
    let event = decision.event
    guard let pending = event.decision, let task = event.taskID else { return nil }
    var writer = JSONWriter()
    writer.object { event.encodeArguments(into: &$0) }
    self.init(
      id: pending.id, type: event.type, sessionID: event.sessionID, taskID: task, createdAt: event.time,
      expiresAt: pending.expiresAt, defaultAnswer: pending.defaultAnswer, arguments: writer.bytes,
      question: decision.number)
  }
}

extension [Int64] {
  /// Ascending numbers, joined into ranges.
  var ranges: [ClosedRange<Int64>] {
    var found: [ClosedRange<Int64>] = []
    for number in self {
      if let last = found.last, last.upperBound + 1 == number {
        found[found.count - 1] = last.lowerBound...number
      } else {
        found.append(number...number)
      }
    }
    return found
  }
}
