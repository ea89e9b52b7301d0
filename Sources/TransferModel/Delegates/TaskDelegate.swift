package import JSON

/// A task's own delegate (URLSessionTask.delegate): asked in place of its session's, which it leaves the rest to.
package struct TaskDelegate: Sendable, Equatable {
  /// What it may say of itself.
  package enum Member: String, Sendable, CaseIterable {
    case sessionChallenges, taskChallenges, redirects, responses, caching, delayedRequests, decisionTimeout
    case webhook
  }

  /// Only the members that are given mean something.
  package private(set) var values: SessionDelegate
  package private(set) var given: Set<Member>

  /// - Parameter given: the members that it has; the others are the session's.
  package init(_ values: SessionDelegate, given: Set<Member>) {
    self.values = SessionDelegate()
    self.values.take(given, of: values)
    self.given = given
  }

  /// Reads the contract's delegate: null says the same as nothing.
  package init(validating reader: inout ObjectReader) {
    let values = SessionDelegate(validating: &reader)
    var given: Set<Member> = []
    for member in Member.allCases where reader.value(member.rawValue) != nil { given.insert(member) }
    self.init(values, given: given)
  }

  package var webhook: Webhook? { values.webhook }

  /// As lists show it.
  package var listed: TaskDelegate {
    var delegate = self
    delegate.values.webhook = webhook?.listed
    return delegate
  }

  /// What the task's calls go by: its own members, and those of its session's delegate.
  package func over(_ session: SessionDelegate?) -> SessionDelegate {
    var merged = session ?? SessionDelegate()
    merged.take(given, of: values)
    return merged
  }
}

extension TaskDelegate: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    values.encode(into: &writer) { given.contains($0) }
  }
}

extension SessionDelegate {
  fileprivate mutating func take(_ members: Set<TaskDelegate.Member>, of other: SessionDelegate) {
    for member in members {
      switch member {
      case .sessionChallenges: sessionChallenges = other.sessionChallenges
      case .taskChallenges: taskChallenges = other.taskChallenges
      case .redirects: asksForRedirects = other.asksForRedirects
      case .responses: asksForResponses = other.asksForResponses
      case .caching: asksForCaching = other.asksForCaching
      case .delayedRequests: asksForDelayedRequests = other.asksForDelayedRequests
      case .decisionTimeout: decisionTimeout = other.decisionTimeout
      case .webhook:
        (webhook, events, webhookAnswers) = (other.webhook, other.events, other.webhookAnswers)
      }
    }
  }
}
