internal import JSON
internal import Ledger
internal import TransferCore
internal import TransferModel

extension StoreChange {
  /// What is written of a step.
  init(_ step: Step) {
    guard !step.turn.isProgressOnly || !step.attempts.isEmpty else {
      self.init(progress: step.turn.events, of: step.turn.session)
      return
    }
    self.init()
    owner = step.turn.session
    if let session = step.turn.sessionRow { sessions = [session] }
    if let last = step.turn.lastIdentifier { lastIdentifiers = [step.turn.session: last] }
    createdTasks = step.turn.created
    updatedTasks = step.turn.updated
    respecifiedTasks = step.turn.respecified
    for (task, bytes) in step.turn.smallBodies { smallBodies[task] = bytes }
    events = step.turn.events
    newDeliveries = step.turn.messages.map { WebhookDelivery($0, of: step.turn.session) }
    updatedDeliveries = step.attempts
    newDecisions = step.turn.inquiries.compactMap { Decision($0) }
    settledDecisions = step.turn.settlements.map {
      SettledDecision(
        id: $0.id, session: step.turn.session, state: $0.state, answer: $0.answer, answerTag: $0.tag)
    }
    commands = step.turn.commands.map { BackgroundCommand($0).stored(for: step.turn.session) }
    takenNews = step.turn.takenNews.ranges
    answer(step.creation?.reply(step.turn.created), about: step.turn.session)
  }
}

extension Decision {
  /// What is stored of a question; nil where its event asks nothing.
  init?(_ inquiry: Turn.Inquiry) {
    let event = inquiry.event
    guard let pending = event.decision, let task = event.taskID else { return nil }
    var writer = JSONWriter()
    writer.object { event.encodeArguments(into: &$0) }
    self.init(
      id: pending.id, type: event.type, sessionID: event.sessionID, taskID: task, createdAt: event.time,
      expiresAt: pending.expiresAt, defaultAnswer: pending.defaultAnswer, arguments: writer.bytes,
      question: inquiry.number)
  }
}

extension [Int64] {
  /// Numbers that ascend, as the ranges that they make.
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
