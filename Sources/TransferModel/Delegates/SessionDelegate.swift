package import JSON

/// A session's delegate: the decisions that clients make, and the webhook that receives events.
package struct SessionDelegate: Sendable, Equatable {
  /// Whether a kind of challenge waits for a decision or gets the default handling.
  package enum Challenges: String, Sendable, CaseIterable { case ask, `default` }
  /// NTLM, Negotiate, ClientCertificate and ServerTrust; `nil` for the value of `taskChallenges`.
  package var sessionChallenges: Challenges?
  /// All other methods; `nil` means `default`.
  package var taskChallenges: Challenges?
  /// Whether `task.willPerformHTTPRedirection` waits for a decision. Otherwise redirects are followed.
  package var asksForRedirects = false
  /// Whether `dataTask.didReceiveResponse` waits for a decision. Otherwise responses are allowed.
  package var asksForResponses = false
  /// Whether `dataTask.willCacheResponse` waits for a decision. Otherwise cacheable responses are stored.
  package var asksForCaching = false
  /// Whether `task.willBeginDelayedRequest` waits for a decision. Otherwise the request is sent.
  package var asksForDelayedRequests = false
  /// Seconds until a decision expires.
  package var decisionTimeout = 60.0
  package var webhook: Webhook?
  /// The event types that the webhook receives. Progress is never among them.
  package var events: [EventType] = []
  /// Whether the webhook's response is the answer to the decision.
  package var webhookAnswers = false

  package init() {}
}

extension SessionDelegate: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    encode(into: &writer) { _ in true }
  }

  /// Writes the delegate as clients see it, without the webhook's secret.
  /// - Parameter has: returns whether a member is written.
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
      writer.field("order", webhook.order.rawValue)
    }
  }
}

extension SessionDelegate {
  /// Returns the event of a challenge; `nil` if stored credentials and the default evaluation handle it. Session-level challenges use the
  /// task's event if the session has no setting for them.
  package func challengeEvent(for method: AuthenticationMethod) -> EventType? {
    if method.isSessionLevel, let sessionChallenges {
      return sessionChallenges == .ask ? .sessionDidReceiveChallenge : nil
    }
    return taskChallenges == .ask ? .taskDidReceiveChallenge : nil
  }

  /// Reads the `delegate` of the API.
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
      events = Self.readEvents(&hook) ?? [.taskDidComplete]
      webhookAnswers = hook.bool("answers") ?? false
      hook.finish()
    }
    reader.finish()
  }

  private static func asks(_ name: String, orElse other: String, _ reader: inout ObjectReader) -> Bool {
    switch reader.string(name) {
    case nil, other: return false
    case "ask": return true
    case let text?:
      reader.reject(name, "must be one of ask, \(other), not '\(text)'")
      return false
    }
  }

  /// Reads the event types that a webhook selects. Returns `nil` if the member is missing.
  static func readEvents(_ reader: inout ObjectReader) -> [EventType]? {
    guard let names = reader.strings("events", upTo: EventType.allCases.count) else { return nil }
    var types: [EventType] = []
    for (index, name) in names.enumerated() {
      guard let type = EventType(rawValue: name), type.isForWebhooks || type.isProgress else {
        reader.reject(
          "events", element: index, "unknown event type '\(name)'; /openapi.yaml lists the types")
        continue
      }
      guard !type.isProgress else {
        reader.reject("events", element: index, "'\(name)' is not sent to webhooks; read the event stream")
        continue
      }
      types.append(type)
    }
    return types
  }
}
