package import JSON

/// A task's own delegate (URLSessionTask.delegate). Members that it lacks come from the session's delegate.
package struct TaskDelegate: Sendable, Equatable {
  /// The members that a task's delegate may have.
  package enum Member: String, Sendable, CaseIterable {
    case sessionChallenges, taskChallenges, redirects, responses, caching, delayedRequests, decisionTimeout
    case webhook
  }

  /// The values. Only the given members are meaningful.
  package private(set) var values: SessionDelegate
  package private(set) var given: Set<Member>

  /// - Parameter given: the members that the delegate has.
  package init(_ values: SessionDelegate, given: Set<Member>) {
    self.values = SessionDelegate()
    self.values.inherit(given, of: values)
    self.given = given
  }

  /// Reads the `delegate` of the API. A `null` member counts as absent.
  package init(validating reader: inout ObjectReader) {
    let values = SessionDelegate(validating: &reader)
    var given: Set<Member> = []
    for member in Member.allCases where reader.value(member.rawValue) != nil { given.insert(member) }
    self.init(values, given: given)
  }

  package var webhook: Webhook? { values.webhook }

  /// The delegate as lists show it.
  package var listed: TaskDelegate {
    var delegate = self
    delegate.values.webhook = webhook?.listed
    return delegate
  }

  /// Returns the delegate's members, completed by those of the session's delegate.
  package func overriding(_ session: SessionDelegate?) -> SessionDelegate {
    var merged = session ?? SessionDelegate()
    merged.inherit(given, of: values)
    return merged
  }
}

extension TaskDelegate: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    values.encode(into: &writer) { given.contains($0) }
  }
}

extension SessionDelegate {
  fileprivate mutating func inherit(_ members: Set<TaskDelegate.Member>, of other: SessionDelegate) {
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
