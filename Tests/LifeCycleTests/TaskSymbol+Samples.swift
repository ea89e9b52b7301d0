import LifeCycle
import TransferModel

extension TaskSymbol {
  static let queued = TaskSymbol.state(.running, .queued)
  static let transferring = TaskSymbol.state(.running, .transferring)
  static let offline = TaskSymbol.state(.running, .waitingForConnectivity)
  static let deciding = TaskSymbol.state(.running, .waitingForDecision)
  static let retrying = TaskSymbol.state(.running, .waitingToRetry)
  static let suspended = TaskSymbol.state(.suspended, nil)
  static let canceling = TaskSymbol.state(.canceling, nil)

  static let success = TaskSymbol.completed(TaskEnd(.success, hasBody: true, hasResponse: true))
  static let cancelled = TaskSymbol.completed(TaskEnd(.cancelled))
  static let failure = TaskSymbol.completed(TaskEnd(.failure))

  static let response = TaskSymbol.call(.response, asks: false)
  static let caching = TaskSymbol.call(.caching, asks: false)
  static let redirection = TaskSymbol.call(.redirection, asks: false)
  static let delayed = TaskSymbol.call(.delayedRequest, asks: false)
}

extension [TaskSymbol] {
  static func begun(_ kind: TaskKind = .data) -> [TaskSymbol] { [.created(kind), .queued, .transferring] }
  /// A running task requests a decision.
  static func asked(_ call: DelegateCall) -> [TaskSymbol] { [.deciding, .call(call, asks: true)] }
}

extension TaskTraits {
  static let data = TaskTraits(.data)
  static let download = TaskTraits(.download)
  static let upload = TaskTraits(.upload)
  static func asking(_ calls: DelegateCall..., kind: TaskKind = .data, in type: SessionType = .default)
    -> Self
  {
    let asked = calls.reduce(into: Calls()) { $0.formUnion(Calls($1)) }
    return TaskTraits(kind, in: type, asked: asked)
  }
  static func background(_ kind: TaskKind) -> Self { TaskTraits(kind, in: .background) }
  static let patient = TaskTraits(.data, waitsForConnectivity: true)
}

extension TaskLifeAutomaton {
  /// Accepts the symbols up to the first that is refused. Returns the number of accepted symbols, and the violation of the next.
  mutating func take(_ words: [TaskSymbol]) -> (count: Int, violation: Violation?) {
    for (index, word) in words.enumerated() {
      do throws(Violation) { try accept(word) } catch { return (index, error) }
    }
    return (words.count, nil)
  }
}
