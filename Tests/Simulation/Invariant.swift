/// What must hold in every world, at every moment. Each raw value is the promise as a sentence.
package enum Invariant: String, Sendable, CaseIterable {
  case acceptedIsKept = "what was accepted is never lost"
  case endsOnce = "a task ends exactly once"
  case taskGrammar = "the events of a task are a word of its life cycle"
  case sessionGrammar =
    "the events of a session are a word of its life cycle; didBecomeInvalid and didFinishEvents come last and once"
  case rowsAgree = "a row says what the events beside it say"
  case streamsAreWhole = "streams have no gap, no repeat and one order"
  case decisionsSettleOnce = "a decision is answered, expired or withdrawn, once"
  case toldBehindTheCommit = "nothing is told before it is committed"
  case sentOnce = "a method that is not idempotent is not sent twice unseen"
  case submittedOnce = "a task is not submitted to an engine that has it"
  case answersItsQuestion = "an answer reaches the question that it is for"
  case tenantsApart = "a tenant never sees another's"
  case repeatsAreKnown = "a repeat under an Idempotency-Key gets the same reply"
  case patchesStay = "what a patch has changed stays"
  case messagesAreWanted = "each event is told once to the webhook that wants it, and to no other"
  case takenOnce = "what a process has taken of a queue is gone"
  case verbsTakeEffect = "what a client was told is done comes about"
  case oneOwnerActs = "whose place another has taken writes nothing"
  case bytesStay = "what an attempt has written stays as it is until it is not wanted any more"
  case comesToRest = "once all is healed, everything accepted ends"
  case memoryIsEmpty = "when all is done, memory holds nothing"
}

/// A promise that a world has broken.
package struct Violation: Error, Sendable, CustomStringConvertible {
  package let invariant: Invariant
  package let detail: String
  /// After so many steps.
  package var step = 0

  package var description: String { "\(invariant) (\(invariant.rawValue)): \(detail)" }
}
