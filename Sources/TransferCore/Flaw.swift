/// A fault that somebody might make, to be switched on by its name: a simulator that finds nothing has to prove that it could. There are
/// none in a release build.
package enum Flaw: String, CaseIterable, Sendable {
  // The machine of the worker, and its shell
  case submitsBeforeTheRow, dropsTheNextAttempt, dropsTheBeginDate, ignoresTheQuestionsNumber
  case countsNoLostAttempt, leavesItsRow, staysActive, releasesNobody, forgetsToTellTheEnd
  case forgetsWhatIsWritten, keepsTakenCommands, takesNothingOver, yieldsOnItsConnection, staysHeld
  // The ledger
  case publishesBeforeTheCommit, acknowledgesBeforeTheCommit, losesACommit, givesANumberTwice
  case forgetsReplies, keepsTakenNews, tellsAnotherTenant, forgetsWhatWasRefused, ignoresTheFence
  case readsTheFenceBefore, renewsALeaseThatEnded, jumpsToTheNewest
  // Bodies
  case writesUnderNoEpoch
  // Streams
  case wakesNobody, forgetsItsPlace, tellsAllTenants, beginsBehindItsPlace
  // The edges of the service
  case admitsEveryRepeat, admitsRepeatsAtOnce, ignoresTheTenant, losesResumes, losesHandovers, dropsDeadlines
  case settlesNoMessage
  // The machine of a session
  case endsTwice, withdrawsNothing, countsNothingDown, handsNothingOver, answersTwice, finishesNoEvents
  case becomesInvalidTooEarly, asksTheCancelled, ignoresTheExpiry

  #if DEBUG
    /// In whatever is done on behalf of the one who has set it.
    @TaskLocal package static var present: Flaw?
    package var isPresent: Bool { Self.present == self }
    /// Injects those faults that are in the machines' inputs and turns.
    @TaskLocal package static var injector: (any FaultInjector)?
  #else
    package var isPresent: Bool { false }
  #endif
}
