internal import TransferModel

/// Where a task is between its creation and its end. A plain value.
package enum TaskPlace: Sendable {
  /// Its row is in a commit that does not hold yet.
  case creating
  /// Nobody carries it out. Its begin date may have come, and was told then.
  case idle(hasBegun: Bool)
  /// Its delegate is asked whether it may begin (`task.willBeginDelayedRequest`).
  case asksToBegin(Question)
  /// An earlier process created it, and may have handed it over to the one that carries background tasks out.
  case uncertain(Question?, hasBegun: Bool)
  /// Somebody carries it out.
  case carried(Question?)
  /// Whoever carries it out was told to stop: it goes on at another process.
  case leaving
  /// It has ended; the commit that says so does not hold yet.
  case ending

  package var isCreating: Bool { if case .creating = self { true } else { false } }
  package var isEnding: Bool { if case .ending = self { true } else { false } }

  /// Whoever carries the task out hears of what clients do with it.
  var isSubmitted: Bool {
    switch self {
    case .carried, .leaving, .uncertain: true
    case .creating, .idle, .asksToBegin, .ending: false
    }
  }

  /// Whether the task stays in memory for long: it is submitted, or its delegate is asked whether it may begin.
  var isResident: Bool { if case .asksToBegin = self { true } else { isSubmitted } }

  package var question: Question? {
    switch self {
    case .asksToBegin(let question): question
    case .carried(let question), .uncertain(let question, _): question
    case .creating, .idle, .leaving, .ending: nil
    }
  }

  /// The commit that creates it holds.
  mutating func creationHolds() {
    assert(isCreating)
    self = .idle(hasBegun: false)
  }

  mutating func ask(_ question: Question) {
    switch self {
    case .idle, .asksToBegin: self = .asksToBegin(question)
    case .carried: self = .carried(question)
    case .uncertain(_, let hasBegun): self = .uncertain(question, hasBegun: hasBegun)
    case .creating, .leaving, .ending: assertionFailure("a task asks that nobody carries out")
    }
  }

  /// The question is out of the way.
  mutating func dropQuestion() {
    switch self {
    case .asksToBegin: self = .idle(hasBegun: true)
    case .carried: self = .carried(nil)
    case .uncertain(_, let hasBegun): self = .uncertain(nil, hasBegun: hasBegun)
    case .creating, .idle, .leaving, .ending: break
    }
  }

  var isCarried: Bool { if case .carried = self { true } else { false } }

  /// Whoever carries it out is told to stop. Nobody is asked any more.
  mutating func leave() {
    assert(isCarried && question == nil)
    self = .leaving
  }

  // MARK: After an earlier process

  /// That its begin date has come was told.
  mutating func hadBegun() {
    switch self {
    case .idle: self = .idle(hasBegun: true)
    case .uncertain(let question, _): self = .uncertain(question, hasBegun: true)
    case .creating, .asksToBegin, .carried, .leaving, .ending: break
    }
  }

  /// An earlier process asked that, and it can still be answered. False where it is clear already who has the task.
  mutating func recover(_ question: Question) -> Bool {
    guard case .uncertain(_, let hasBegun) = self else { return false }
    self = .uncertain(question, hasBegun: hasBegun || question.isAboutBeginning)
    return true
  }
}
