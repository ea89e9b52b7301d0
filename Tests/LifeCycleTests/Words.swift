import LifeCycle
import TransferModel

extension TaskWord {
  static let queued = TaskWord.state(.running, .queued)
  static let transferring = TaskWord.state(.running, .transferring)
  static let offline = TaskWord.state(.running, .waitingForConnectivity)
  static let deciding = TaskWord.state(.running, .waitingForDecision)
  static let retrying = TaskWord.state(.running, .waitingToRetry)
  static let suspended = TaskWord.state(.suspended, nil)
  static let canceling = TaskWord.state(.canceling, nil)

  static let success = TaskWord.completed(TaskEnd(.success, hasBody: true, hasResponse: true))
  static let cancelled = TaskWord.completed(TaskEnd(.cancelled))
  static let failure = TaskWord.completed(TaskEnd(.failure))

  static let response = TaskWord.call(.response, asks: false)
  static let caching = TaskWord.call(.caching, asks: false)
  static let redirection = TaskWord.call(.redirection, asks: false)
  static let delayed = TaskWord.call(.delayedRequest, asks: false)
}

extension [TaskWord] {
  static func begun(_ kind: TaskKind = .data) -> [TaskWord] { [.created(kind), .queued, .transferring] }
  /// A running task asks.
  static func asked(_ call: TaskCall) -> [TaskWord] { [.deciding, .call(call, asks: true)] }
}

extension TaskCircumstances {
  static let data = TaskCircumstances(.data)
  static let download = TaskCircumstances(.download)
  static let upload = TaskCircumstances(.upload)
  static func asking(_ calls: TaskCall..., kind: TaskKind = .data, in type: SessionType = .default) -> Self {
    let asked = calls.reduce(into: Calls()) { $0.formUnion(Calls($1)) }
    return TaskCircumstances(kind, in: type, asked: asked)
  }
  static func background(_ kind: TaskKind) -> Self { TaskCircumstances(kind, in: .background) }
  static let patient = TaskCircumstances(.data, waitsForConnectivity: true)
}

extension TaskLife {
  /// Takes the words up to the first that it refuses; returns how many it took, and what was wrong with the next.
  mutating func take(_ words: [TaskWord]) -> (count: Int, violation: Violation?) {
    for (index, word) in words.enumerated() {
      do throws(Violation) { try accept(word) } catch { return (index, error) }
    }
    return (words.count, nil)
  }
}
