package import TransferModel

/// The parameters of a task's grammar. They never change during the task's life.
package struct TaskTraits: Sendable, Hashable {
  /// A set of calls.
  package struct Calls: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package init(_ calls: DelegateCall...) {
      self.init(rawValue: calls.reduce(0) { $0 | 1 << $1.rawValue })
    }
    func contains(_ call: DelegateCall) -> Bool { contains(Calls(call)) }
  }

  package var kind: TaskKind
  package var sessionType: SessionType
  /// The calls for which the delegate makes a decision.
  package var asked: Calls
  /// waitsForConnectivity of the session's configuration.
  package var waitsForConnectivity: Bool
  /// Whether the task is a download that replaced a data task.
  package var replacesDataTask: Bool
  /// Whether a failed attempt may be followed by another.
  package var mayRetry: Bool
  /// Whether the client refuses some statuses. A refused response keeps its body, unless the task is a download.
  package var refusesStatuses = false
  /// Whether a received body becomes a file. If that fails, the body is kept.
  package var hasDestination = false

  /// - Parameters:
  ///   - asked: the decisions that the delegate makes. A new body stream always requires a decision.
  ///   - hasCompletionHandler: whether a completion handler replaces the delegate for calls about the response and the cache.
  package init(
    _ kind: TaskKind, in sessionType: SessionType = .default, asked: Calls = [],
    hasCompletionHandler: Bool = false, waitsForConnectivity: Bool = false, goesOnForDataTask: Bool = false,
    mayRetry: Bool = false
  ) {
    self.kind = kind
    self.sessionType = sessionType
    self.waitsForConnectivity = waitsForConnectivity || sessionType == .background
    self.replacesDataTask = goesOnForDataTask
    self.mayRetry = mayRetry || sessionType == .background
    self.asked = asked
    if hasCompletionHandler { self.asked.subtract(Calls(.response, .caching)) }
    if sessionType == .background {
      self.asked.subtract(Calls(.redirection, .response, .caching, .newBodyStream))
    } else {
      self.asked.formUnion(Calls(.newBodyStream))
    }
  }

  package init(of task: TransferTask, in session: TransferSession, goesOnForDataTask: Bool = false) {
    var asked: Calls = []
    if let delegate = session.delegate(of: task) {
      if delegate.sessionChallenges == .ask { asked.formUnion(Calls(.sessionChallenge)) }
      if delegate.taskChallenges == .ask { asked.formUnion(Calls(.taskChallenge)) }
      if delegate.asksForRedirects { asked.formUnion(Calls(.redirection)) }
      if delegate.asksForDelayedRequests { asked.formUnion(Calls(.delayedRequest)) }
      if delegate.asksForResponses { asked.formUnion(Calls(.response)) }
      if delegate.asksForCaching { asked.formUnion(Calls(.caching)) }
    }
    self.init(
      task.kind, in: session.type, asked: asked, hasCompletionHandler: task.hasCompletionHandler,
      waitsForConnectivity: session.configuration.waitsForConnectivity, goesOnForDataTask: goesOnForDataTask,
      mayRetry: task.preferences.retry != nil || session.configuration.retry != nil)
    let requirements = task.preferences.requirements
    refusesStatuses = requirements.failsOnStatus || requirements.expected != nil
    hasDestination = task.destination != nil
  }

  /// Whether an end may have a body.
  package func mayHaveBody(_ result: TaskEnd.Result) -> Bool {
    result == .success || result == .failure && (kind == .download ? hasDestination : refusesStatuses)
  }

  var isInBackground: Bool { sessionType == .background }
  /// Whether a suspended task survives the service. Its requests end with the service.
  var outlivesTheService: Bool { sessionType != .ephemeral }
}
