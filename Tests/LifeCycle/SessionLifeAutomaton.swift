package import TransferModel

/// The symbol of an event in the grammar of its session.
package enum SessionSymbol: UInt8, Sendable, Hashable, CaseIterable {
  /// didCreate of one of its tasks.
  case taskBegan
  /// didComplete or didBecomeDownloadTask of one of its tasks.
  case taskEnded
  /// Any other event of one of its tasks.
  case taskTold
  case finishedEvents
  case becameInvalid

  package init(_ word: TaskSymbol) {
    switch word {
    case .created: self = .taskBegan
    case .becameDownload, .completed: self = .taskEnded
    default: self = .taskTold
    }
  }

  /// Returns the symbol of a session's own event; `nil` for a task's event, and for messages that are no events of streams.
  package init?(_ type: EventType) {
    switch type {
    case .sessionDidFinishEvents: self = .finishedEvents
    case .sessionDidBecomeInvalid: self = .becameInvalid
    default: return nil
    }
  }
}

/// The rules for the events of a session. Each raw value is the rule as a sentence.
package enum SessionRule: String, Error, Sendable, CaseIterable {
  case silentWhenInvalid = "nothing follows didBecomeInvalid"
  case endsBehindItsTasks = "a session becomes invalid only after all its tasks have ended"
  case sharedStays = "the shared session never becomes invalid"
  case oneEndForEachTask = "at most as many tasks end as were created"
  case finishedInBackground = "only background sessions have didFinishEvents"
  case finishedBehindAllTasks = "didFinishEvents comes only while no task is unfinished"
  case finishedBehindAnEnd = "didFinishEvents comes only if a task has ended since the previous one"
}

/// The life of a session as its delegate observes it: an automaton over the events of the session and of its tasks, in order.
///
///     didCreate, … of any number of tasks, each of which ends · then optionally didBecomeInvalid as the last event
///
/// In background sessions, didFinishEvents comes when no task is unfinished and a task has ended since the last one (Apple:
/// urlSessionDidFinishEvents(forBackgroundURLSession:)). Because all messages must be delivered first, new tasks may be created before it.
package struct SessionLifeAutomaton: Sendable, Equatable {
  package struct Violation: Error, Sendable, Equatable, CustomStringConvertible {
    package let rule: SessionRule
    package let word: SessionSymbol

    package var description: String { "\(word): \(rule.rawValue)" }
  }

  private let type: SessionType
  private let isShared: Bool
  private var unfinished = 0
  private var owesFinishedEvents = false
  /// Whether the session has emitted its last event.
  package private(set) var isOver = false

  package init(_ type: SessionType, isShared: Bool = false) {
    self.type = type
    self.isShared = isShared
  }

  /// Accepts the session's next event. A violation leaves the automaton unchanged.
  package mutating func accept(_ word: SessionSymbol) throws(Violation) {
    if let rule = broken(by: word) { throw Violation(rule: rule, word: word) }
    switch word {
    case .taskBegan: unfinished += 1
    case .taskEnded:
      unfinished -= 1
      owesFinishedEvents = true
    case .taskTold: break
    case .finishedEvents: owesFinishedEvents = false
    case .becameInvalid: isOver = true
    }
  }

  private func broken(by word: SessionSymbol) -> SessionRule? {
    if isOver { return .silentWhenInvalid }
    switch word {
    case .taskBegan, .taskTold: return nil
    case .taskEnded: return unfinished > 0 ? nil : .oneEndForEachTask
    case .finishedEvents:
      guard type == .background else { return .finishedInBackground }
      guard unfinished == 0 else { return .finishedBehindAllTasks }
      return owesFinishedEvents ? nil : .finishedBehindAnEnd
    case .becameInvalid:
      if isShared { return .sharedStays }
      return unfinished == 0 ? nil : .endsBehindItsTasks
    }
  }
}
