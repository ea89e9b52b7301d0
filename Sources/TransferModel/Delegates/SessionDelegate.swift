package import JSON

/// Which of a session's calls wait for an answer, and the endpoint that hears of events.
package struct SessionDelegate: Sendable, Equatable {
  /// Who is asked about a kind of challenge.
  package enum Challenges: String, Sendable, CaseIterable { case ask, `default` }
  /// NTLM, Negotiate, ClientCertificate, ServerTrust; nil: what `taskChallenges` says.
  package var sessionChallenges: Challenges?
  /// All others; nil: as `default`.
  package var taskChallenges: Challenges?
  /// Whether `task.willPerformHTTPRedirection` waits; else redirects are followed.
  package var asksForRedirects = false
  /// Whether `dataTask.didReceiveResponse` waits; else responses are allowed.
  package var asksForResponses = false
  /// Whether `dataTask.willCacheResponse` waits; else what may be stored is.
  package var asksForCaching = false
  /// Whether `task.willBeginDelayedRequest` waits; else the request goes out.
  package var asksForDelayedRequests = false
  /// Seconds after which the default is done.
  package var decisionTimeout = 60.0
  package var webhook: Webhook?
  /// The event types the webhook is told; progress is never among them.
  package var events: [EventType] = []
  /// The webhook's reply to a call that waits is the answer.
  package var webhookAnswers = false

  package init() {}
}

extension SessionDelegate: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    encode(into: &writer) { _ in true }
  }

  /// As clients see it: without the webhook's secret.
  /// - Parameter has: whether a member is written.
  func encode(into writer: inout JSONWriter, where has: (TaskDelegate.Member) -> Bool) {
    writer.object { encodeMembers(into: &$0, where: has) }
  }

  private func encodeMembers(into writer: inout JSONWriter, where has: (TaskDelegate.Member) -> Bool) {
    if has(.sessionChallenges) { writer.field("sessionChallenges", sessionChallenges?.rawValue) }
    if has(.taskChallenges) { writer.field("taskChallenges", taskChallenges?.rawValue) }
    if has(.redirects) { writer.field("redirects", asksForRedirects ? "ask" : "follow") }
    if has(.responses) { writer.field("responses", asksForResponses ? "ask" : "allow") }
    if has(.caching) { writer.field("caching", asksForCaching ? "ask" : "default") }
    if has(.delayedRequests) { writer.field("delayedRequests", asksForDelayedRequests ? "ask" : "continue") }
    if has(.decisionTimeout) { writer.field("decisionTimeout", decisionTimeout) }
    guard has(.webhook) else { return }
    writer.key("webhook")
    guard let webhook else { return writer.null() }
    writer.object { writer in
      writer.field("url", webhook.url)
      writer.arrayField("events", events) { $0.value($1.rawValue) }
      writer.field("answers", webhookAnswers)
    }
  }
}

extension SessionDelegate {
  /// Who hears of a challenge: `session.didReceiveChallenge`, `task.didReceiveChallenge`, or nobody: then what is
  /// stored and the default evaluation decide. Session-level ones go to the task's call where the session has none.
  package func challengeEvent(for method: AuthenticationMethod) -> EventType? {
    if method.isSessionLevel, let sessionChallenges {
      return sessionChallenges == .ask ? .sessionDidReceiveChallenge : nil
    }
    return taskChallenges == .ask ? .taskDidReceiveChallenge : nil
  }

  /// Reads the contract's delegate.
  package init(validating reader: inout ObjectReader) {
    self.init()
    reader.allowNull("webhook", "sessionChallenges", "taskChallenges")
    sessionChallenges = reader.choice("sessionChallenges")
    taskChallenges = reader.choice("taskChallenges")
    asksForCaching = Self.asks("caching", orElse: "default", &reader)
    asksForRedirects = Self.asks("redirects", orElse: "follow", &reader)
    asksForResponses = Self.asks("responses", orElse: "allow", &reader)
    asksForDelayedRequests = Self.asks("delayedRequests", orElse: "continue", &reader)
    decisionTimeout = reader.number("decisionTimeout", in: 0.001...31_536_000) ?? decisionTimeout
    if var hook = reader.object("webhook") {
      webhook = Webhook(validating: &hook)
      events = Self.readEvents(&hook)
      webhookAnswers = hook.bool("answers") ?? false
      hook.finish()
    }
    reader.finish()
  }

  private static func asks(_ name: String, orElse other: String, _ reader: inout ObjectReader) -> Bool {
    switch reader.string(name) {
    case nil, other: return false
    case "ask": return true
    default:
      reader.reject(name, "must be one of ask, \(other)")
      return false
    }
  }

  private static func readEvents(_ reader: inout ObjectReader) -> [EventType] {
    guard let names = reader.strings("events") else { return [.taskDidComplete] }
    var types: [EventType] = []
    for (index, name) in names.enumerated() {
      guard let type = EventType(rawValue: name), type != .eventsDidReset else {
        reader.reject("events", element: index, "unknown event type '\(name)'")
        continue
      }
      guard !type.isProgress else {
        reader.reject("events", element: index, "progress is not sent to webhooks; read the event stream")
        continue
      }
      types.append(type)
    }
    return types
  }
}
