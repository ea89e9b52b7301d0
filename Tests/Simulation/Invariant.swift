/// The invariants of every world, at every moment. Each raw value is the promise as a sentence.
package enum Invariant: String, Sendable, CaseIterable {
  case acceptedIsKept = "accepted sessions and tasks are never lost"
  case endsOnce = "a task ends exactly once"
  case taskGrammar = "the events of a task follow its life cycle"
  case sessionGrammar =
    "the events of a session follow its life cycle; didBecomeInvalid and didFinishEvents come last and once"
  case rowsAgree = "a row agrees with the events of its commit"
  case streamsAreWhole = "all streams have the same order, without gaps and repetitions"
  case decisionsSettleOnce = "a decision is answered, expired or withdrawn exactly once"
  case toldBehindTheCommit = "clients see a change only after its commit"
  case sentOnce = "a request with a non-idempotent method is repeated only as a counted retry"
  case submittedOnce = "a task is submitted to an engine at most once"
  case answersItsQuestion = "an answer reaches its own decision"
  case tenantsApart = "a tenant never sees another tenant's data"
  case repeatsAreKnown = "a repeated request with the same Idempotency-Key gets the same reply"
  case patchesStay = "an acknowledged PATCH is not lost"
  case changedRequestsAreUsed =
    "no attempt that begins after a committed change of its request uses an earlier request"
  case messagesAreWanted =
    "each event has one webhook message if the webhook subscribed to it, and otherwise none"
  case messagesInOrder = "a message is sent only after the earlier messages of its task to the same webhook"
  case disabledEndpointsWait = "an endpoint gets no message while it is disabled"
  case takenOnce = "a process consumes each row of a queue once"
  case verbsTakeEffect = "an acknowledged command takes effect"
  case oneOwnerActs = "a process that was taken over stops writing"
  case groupsEndOnce =
    "a closed group gets no new tasks, and one group.didComplete with the right counts when its tasks have ended"
  case filesAreWhole =
    "a download that succeeded has its file once and whole at its destination, and one that failed has none"
  case bytesStay = "the bytes of an attempt do not change until they are deleted"
  case comesToRest = "after all faults end, every accepted task ends"
  case memoryIsEmpty = "when all tasks have ended, memory is empty"
}

/// A broken invariant.
package struct Violation: Error, Sendable, CustomStringConvertible {
  package let invariant: Invariant
  package let detail: String
  /// The number of steps before it.
  package var step = 0

  package var description: String { "\(invariant) (\(invariant.rawValue)): \(detail)" }
}
