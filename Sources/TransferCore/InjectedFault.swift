/// The deliberate faults that tests switch on by name, to prove that the simulator finds each of them. Debug builds only.
package enum InjectedFault: String, CaseIterable, Sendable {
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
  // Groups of tasks
  case forgetsClosedGroups, admitsTasksOfClosedGroups
  // Messages to webhooks
  case sendsOutOfOrder, losesRedeliveries, sendsToDisabledEndpoints, forgetsEnabledEndpoints
  // The machine of a session
  case endsTwice, withdrawsNothing, countsNothingDown, handsNothingOver, answersTwice, finishesNoEvents
  case becomesInvalidTooEarly, asksTheCancelled, ignoresTheExpiry
  case startsFormerRequests, losesRequestChanges
  case showsTheFailedAttempt, losesTheRetryTimer, retriesAfterTheResponse
  // Files at destinations
  case forgetsTheMark

  #if DEBUG
    /// The fault that is active in the current task and its children.
    @TaskLocal package static var present: InjectedFault?
    package var isPresent: Bool { Self.present == self }
    /// Injects the faults that change the inputs or effects of machines.
    @TaskLocal package static var injector: (any FaultInjector)?
  #else
    package var isPresent: Bool { false }
  #endif
}
