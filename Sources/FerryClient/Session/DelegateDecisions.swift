internal import JSON

/// The decisions that an object makes, as the member `delegate` of a session or a task.
struct DelegateDecisions: Sendable {
  private var decisions: FerryDecisions = []

  init(_ delegate: (any FerrySessionDelegate)?) {
    guard let delegate else { return }
    decisions.insert(.sessionChallenges)
    if delegate is any FerrySessionTaskDelegate {
      decisions.formUnion([.taskChallenges, .redirects, .delayedRequests])
    }
    if delegate is any FerrySessionDataDelegate { decisions.formUnion([.responses, .caching]) }
    decisions.formIntersection(delegate.decisions)
  }

  /// Writes the members. A task's own delegate adds decisions to those of the session's, and a completion handler removes some.
  func encode(into writer: inout JSONWriter, isTask: Bool = false, hasHandler: Bool = false) {
    if decisions.contains(.sessionChallenges) { writer.field("sessionChallenges", "ask") }
    if decisions.contains(.taskChallenges) { writer.field("taskChallenges", "ask") }
    if decisions.contains(.redirects) { writer.field("redirects", "ask") }
    if decisions.contains(.delayedRequests) { writer.field("delayedRequests", "ask") }
    if hasHandler {
      writer.field("responses", "allow")
      writer.field("caching", "default")
    } else {
      if decisions.contains(.responses) { writer.field("responses", "ask") }
      if decisions.contains(.caching) { writer.field("caching", "ask") }
    }
  }
}
