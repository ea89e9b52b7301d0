package import TransferModel

/// What a task's grammar depends on beside its events. None of it changes in the task's life.
package struct TaskCircumstances: Sendable, Hashable {
  /// A set of calls.
  package struct Calls: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package init(_ calls: TaskCall...) {
      self.init(rawValue: calls.reduce(0) { $0 | 1 << $1.rawValue })
    }
    func contains(_ call: TaskCall) -> Bool { contains(Calls(call)) }
  }

  package var kind: TaskKind
  package var sessionType: SessionType
  /// The calls that the delegate answers.
  package var asked: Calls
  /// waitsForConnectivity of the session's configuration.
  package var waitsForConnectivity: Bool
  /// It is the download that a data task became.
  package var goesOnForDataTask: Bool

  /// - Parameters:
  ///   - asked: what the delegate wants to be asked about. New streams of a body are always asked for.
  ///   - hasCompletionHandler: the task has a completion handler, which takes the calls about the response and the cache over.
  package init(
    _ kind: TaskKind, in sessionType: SessionType = .default, asked: Calls = [],
    hasCompletionHandler: Bool = false, waitsForConnectivity: Bool = false, goesOnForDataTask: Bool = false
  ) {
    self.kind = kind
    self.sessionType = sessionType
    self.waitsForConnectivity = waitsForConnectivity || sessionType == .background
    self.goesOnForDataTask = goesOnForDataTask
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
      waitsForConnectivity: session.configuration.waitsForConnectivity, goesOnForDataTask: goesOnForDataTask)
  }

  var isInBackground: Bool { sessionType == .background }
  /// A suspended task outlives the service's process, and not what it had begun.
  var outlivesTheService: Bool { sessionType != .ephemeral }
}
