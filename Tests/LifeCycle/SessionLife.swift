package import TransferModel

/// What one event says of its session, as far as the session's grammar needs it.
package enum SessionWord: UInt8, Sendable, Hashable, CaseIterable {
  /// didCreate of one of its tasks.
  case taskBegan
  /// didComplete or didBecomeDownloadTask of one of its tasks.
  case taskEnded
  /// Anything else of one of its tasks.
  case taskTold
  case finishedEvents
  case becameInvalid

  package init(_ word: TaskWord) {
    switch word {
    case .created: self = .taskBegan
    case .becameDownload, .completed: self = .taskEnded
    default: self = .taskTold
    }
  }

  /// The word that an event of the session itself is; nil where it is one of a task, or no event of streams.
  package init?(_ type: EventType) {
    switch type {
    case .sessionDidFinishEvents: self = .finishedEvents
    case .sessionDidBecomeInvalid: self = .becameInvalid
    default: return nil
    }
  }
}

/// What holds of the events of one session. Each raw value is the rule as a sentence.
package enum SessionRule: String, Error, Sendable, CaseIterable {
  case silentWhenInvalid = "nothing follows didBecomeInvalid"
  case endsBehindItsTasks = "a session becomes invalid when all its tasks have ended"
  case sharedStays = "the shared session never becomes invalid"
  case oneEndForEachTask = "no more tasks end than were created"
  case finishedInBackground = "didFinishEvents is for background sessions"
  case finishedBehindAllTasks = "didFinishEvents comes when no task is unfinished"
  case finishedBehindAnEnd = "didFinishEvents comes when a task has ended since the last"
}

/// The life of one session as its delegate hears of it: an automaton over the events of the session and of its tasks, in their order.
///
///     didCreate, … of any number of tasks, each of which ends · then perhaps didBecomeInvalid, the last of all
///
/// In background sessions didFinishEvents comes wherever no task is unfinished and one has ended since the last (Apple:
/// urlSessionDidFinishEvents(forBackgroundURLSession:)): once everything was handed over, so that the next tasks may be created first.
package struct SessionLife: Sendable, Equatable {
  package struct Violation: Error, Sendable, Equatable, CustomStringConvertible {
    package let rule: SessionRule
    package let word: SessionWord

    package var description: String { "\(word): \(rule.rawValue)" }
  }

  private let type: SessionType
  private let isShared: Bool
  private var unfinished = 0
  private var owesFinishedEvents = false
  /// The session has told its last event.
  package private(set) var isOver = false

  package init(_ type: SessionType, isShared: Bool = false) {
    self.type = type
    self.isShared = isShared
  }

  /// Takes the session's next event. A violation leaves all as it was.
  package mutating func accept(_ word: SessionWord) throws(Violation) {
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

  private func broken(by word: SessionWord) -> SessionRule? {
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
