import LifeCycle
import Testing
import TransferModel

/// Examples for each rule of a task's grammar. The last symbol of a row breaks the rule, and none before it breaks any.
@Suite struct TaskRuleTests {
  struct Bad: Sendable, CustomTestStringConvertible {
    let rule: TaskRule
    let circumstances: TaskTraits
    let words: [TaskSymbol]

    init(_ rule: TaskRule, _ circumstances: TaskTraits, _ pieces: [TaskSymbol]...) {
      (self.rule, self.circumstances, self.words) = (rule, circumstances, pieces.flatMap { $0 })
    }
    var testDescription: String { "\(rule): \(words.map(\.description).joined(separator: " · "))" }
  }

  static let bad = birthAndDeath + states + questions + calls + ends

  static let birthAndDeath: [Bad] = [
    Bad(.createdFirst, .data, [.queued]), Bad(.createdFirst, .data, [.metrics]),
    Bad(.createdOnce, .data, [.created(.data), .created(.data)]),
    Bad(.createdOnce, .data, .begun(), [.created(.data)]),
    Bad(.ofItsKind, .data, [.created(.download)]),
    Bad(.silentAfterItsEnd, .data, .begun(), [.metrics, .failure, .metrics]),
    Bad(.silentAfterItsEnd, .data, .begun(), [.metrics, .failure, .created(.data)]),
    Bad(.silentAfterItsEnd, .data, .begun(), [.metrics, .failure, .progress(.receivedData)]),
    Bad(
      .silentAfterItsEnd, .asking(.response),
      .begun(), .asked(.response), [.transferring, .becameDownload, .metrics]),
    Bad(.silentUntilResumed, .data, [.created(.data), .response]),
    Bad(.silentUntilResumed, .data, [.created(.data), .redirection]),
    Bad(.silentUntilResumed, .data, [.created(.data), .informational]),
    Bad(.silentUntilResumed, .asking(.taskChallenge), [.created(.data), .call(.taskChallenge, asks: true)]),
    Bad(.silentUntilResumed, .patient, [.created(.data), .waitsForConnectivity]),
    Bad(.silentUntilResumed, .data, [.created(.data), .delayed]),
    Bad(.silentUntilResumed, .download, [.created(.download), .finishedDownloading]),
    Bad(.silentUntilResumed, .data, [.created(.data), .metrics]),
    Bad(.metricsBeforeTheEnd, .data, .begun(), [.failure]),
    Bad(.metricsBeforeTheEnd, .data, .begun(), [.metrics, .metrics]),
    Bad(.metricsBeforeTheEnd, .data, .begun(), [.metrics, .response]),
    Bad(.metricsBeforeTheEnd, .data, .begun(), [.metrics, .progress(.sentBodyData)]),
    Bad(.metricsBehindTheFile, .download, .begun(.download), [.finishedDownloading, .success]),
    Bad(.metricsBehindTheFile, .download, .begun(.download), [.finishedDownloading, .finishedDownloading]),
    Bad(.metricsBehindTheFile, .download, .begun(.download), [.finishedDownloading, .suspended]),
    Bad(.metricsBehindTheFile, .download, .begun(.download), [.finishedDownloading, .progress(.wroteData)]),
  ]

  static let states: [Bad] = [
    Bad(.stateFollows, .data, [.created(.data), .suspended]),
    Bad(.stateFollows, .data, [.created(.data), .queued, .queued]),
    Bad(.stateFollows, .data, .begun(), [.transferring]),
    Bad(.stateFollows, .data, .begun(), [.canceling, .transferring]),
    Bad(.stateFollows, .data, .begun(), [.canceling, .canceling]),
    Bad(.stateFollows, .data, .begun(), [.canceling, .suspended]),
    Bad(.stateFollows, .data, .begun(), [.suspended, .suspended]),
    Bad(.endHasNoState, .data, .begun(), [.state(.completed, nil)]),
    Bad(.phaseOfRunning, .data, [.created(.data), .state(.running, nil)]),
    Bad(.phaseOfRunning, .data, .begun(), [.state(.suspended, .queued)]),
    Bad(.phaseOfRunning, .data, .begun(), [.state(.canceling, .transferring)]),
    Bad(.phaseFollows, .data, .begun(), [.queued]),
    Bad(.phaseFollows, .data, .begun(), [.suspended, .queued]),
    Bad(.phaseFollows, .data, .begun(), [.suspended, .deciding]),
    Bad(.phaseFollows, .patient, .begun(), [.suspended, .offline]),
    Bad(.phaseFollows, .patient, .begun(), [.response, .offline]),
    Bad(
      .phaseFollows, TaskTraits(.data, asked: .init(.redirection), waitsForConnectivity: true),
      .begun(), .asked(.redirection), [.offline]),
    Bad(.firstPhase, .data, [.created(.data), .transferring]),
    Bad(.firstPhase, .asking(.response), [.created(.data), .deciding]),
    Bad(.retriesBeforeTheResponse, .data, .begun(), [.retrying]),
    Bad(.retriesBeforeTheResponse, TaskTraits(.data, mayRetry: true), .begun(), [.response, .retrying]),
    Bad(.waitsWhereItMay, .data, [.created(.data), .queued, .offline]),
    Bad(.waitsWhereItMay, .data, [.created(.data), .queued, .waitsForConnectivity]),
  ]

  static let questions: [Bad] = [
    Bad(.asksInItsPhase, .asking(.response), .begun(), [.call(.response, asks: true)]),
    Bad(.phaseOfAQuestion, .asking(.response), .begun(), [.deciding, .transferring]),
    Bad(.phaseOfAQuestion, .asking(.response), .begun(), [.deciding, .metrics]),
    Bad(.phaseOfAQuestion, .asking(.response), .begun(), [.deciding, .informational]),
    Bad(.cancelledAsksNothing, .asking(.response), .begun(), [.canceling, .call(.response, asks: true)]),
    Bad(
      .cancelledAsksNothing, .asking(.taskChallenge, .redirection),
      .begun(), .asked(.taskChallenge), [.canceling, .call(.redirection, asks: true)]),
    Bad(.oneQuestionAtATime, .asking(.response), .begun(), .asked(.response), [.call(.response, asks: true)]),
    Bad(
      .oneQuestionAtATime, .asking(.taskChallenge, .redirection),
      .begun(), .asked(.taskChallenge), [.call(.redirection, asks: true)]),
    Bad(.oneQuestionAtATime, .asking(.redirection), .begun(), .asked(.redirection), [.informational]),
    Bad(.asksWhoWantsToBeAsked, .data, .begun(), .asked(.redirection)),
    Bad(.asksWhoWantsToBeAsked, .asking(.redirection), .begun(), [.redirection]),
    Bad(.asksWhoWantsToBeAsked, .asking(.taskChallenge), .begun(), [.call(.taskChallenge, asks: false)]),
    Bad(.asksWhoWantsToBeAsked, .asking(.taskChallenge), .begun(), .asked(.sessionChallenge)),
    Bad(.asksWhoWantsToBeAsked, .data, .begun(), [.call(.taskChallenge, asks: false)]),
    Bad(.asksWhoWantsToBeAsked, .upload, .begun(.upload), [.call(.newBodyStream, asks: false)]),
    Bad(
      .asksWhoWantsToBeAsked, .background(.upload), .begun(.upload), .asked(.newBodyStream)),
    Bad(
      .asksWhoWantsToBeAsked,
      TaskTraits(.data, asked: .init(.response), hasCompletionHandler: true),
      .begun(), .asked(.response)),
    Bad(.asksWhoWantsToBeAsked, .asking(.response, in: .background), .begun(), .asked(.response)),
  ]

  static let calls: [Bad] = [
    Bad(.toldUnderWay, .data, [.created(.data), .queued, .response]),
    Bad(.toldUnderWay, .data, [.created(.data), .queued, .redirection]),
    Bad(.toldUnderWay, .download, [.created(.download), .queued, .resumedAtOffset]),
    Bad(.toldUnderWay, .patient, [.created(.data), .queued, .offline, .informational]),
    Bad(.toldUnderWay, .background(.data), .begun(), [.retrying, .response]),
    Bad(
      .toldUnderWay, .asking(.taskChallenge),
      .begun(), .asked(.taskChallenge), [.queued, .redirection]),
    Bad(.toldUnderWay, .patient, [.created(.data), .queued, .offline, .delayed]),
    Bad(.ofItsKind, .download, .begun(.download), [.response]),
    Bad(.ofItsKind, .download, .begun(.download), [.caching]),
    Bad(.ofItsKind, .download, .begun(.download), [.becameDownload]),
    Bad(.ofItsKind, .data, .begun(), [.resumedAtOffset]),
    Bad(.ofItsKind, .upload, .begun(.upload), [.finishedDownloading]),
    Bad(.ofItsKind, .data, .begun(), [.progress(.wroteData)]),
    Bad(.ofItsKind, .download, .begun(.download), [.progress(.receivedData)]),
    Bad(.beforeTheResponse, .data, .begun(), [.response, .redirection]),
    Bad(.beforeTheResponse, .data, .begun(), [.response, .informational]),
    Bad(.beforeTheResponse, .download, .begun(.download), [.resumedAtOffset, .redirection]),
    Bad(.beforeTheResponse, .patient, .begun(), [.response, .waitsForConnectivity]),
    Bad(.beforeTheResponse, .asking(.taskChallenge), .begun(), [.response], .asked(.taskChallenge)),
    Bad(.beforeTheResponse, .upload, .begun(.upload), [.response], .asked(.newBodyStream)),
    Bad(
      .beforeTheResponse, TaskTraits(.data, in: .ephemeral),
      .begun(), [.response, .suspended, .transferring, .redirection]),
    Bad(.beforeTheResponse, .data, .begun(), [.response, .suspended, .redirection]),
    Bad(
      .beforeTheResponse, .data,
      .begun(), [.response, .suspended, .transferring, .redirection, .response, .informational]),
    Bad(.delayedOnce, .data, [.created(.data), .queued, .delayed, .delayed]),
    Bad(.delayedOnce, .data, [.created(.data), .queued, .delayed, .suspended, .queued, .delayed]),
    Bad(.delayedOnce, .data, .begun(), [.delayed]),
    Bad(.waitingIsToldOnce, .patient, [.created(.data), .queued, .waitsForConnectivity]),
    Bad(
      .waitingIsToldOnce, .patient,
      [.created(.data), .queued, .offline, .waitsForConnectivity, .waitsForConnectivity]),
    Bad(
      .waitingIsToldOnce, .patient,
      [.created(.data), .queued, .offline, .waitsForConnectivity, .transferring, .offline],
      [.waitsForConnectivity]),
    Bad(
      .backgroundIsNotTold, .background(.data), [.created(.data), .queued, .offline, .waitsForConnectivity]),
    Bad(.backgroundIsNotTold, .background(.upload), .begun(.upload), [.response]),
    Bad(.backgroundIsNotTold, .background(.data), .begun(), [.redirection]),
    Bad(.backgroundIsNotTold, .background(.data), .begun(), [.response, .caching]),
    Bad(.resumedOnce, .download, .begun(.download), [.resumedAtOffset, .resumedAtOffset]),
    Bad(.cachingBehindTheResponse, .data, .begun(), [.caching]),
    Bad(.cachingBehindTheResponse, .data, .begun(), [.response, .caching, .caching]),
    Bad(.cachingBehindTheResponse, .data, .begun(), [.response, .caching, .response]),
    Bad(.becomesDownloadWhenAsked, .data, .begun(), [.becameDownload]),
    Bad(.becomesDownloadWhenAsked, .data, .begun(), [.response, .becameDownload]),
    Bad(.becomesDownloadWhenAsked, .asking(.response), .begun(), .asked(.response), [.becameDownload]),
    Bad(
      .becomesDownloadWhenAsked, .asking(.response),
      .begun(), .asked(.response), [.canceling, .becameDownload]),
    Bad(.progressUnderWay, .data, [.created(.data), .progress(.sentBodyData)]),
    Bad(.progressUnderWay, .data, [.created(.data), .queued, .progress(.sentBodyData)]),
    Bad(.progressUnderWay, .download, [.created(.download), .queued, .progress(.wroteData)]),
    Bad(.dataBehindTheResponse, .data, .begun(), [.progress(.receivedData)]),
    Bad(
      .dataBehindTheResponse, .asking(.response),
      .begun(), .asked(.response), [.progress(.receivedData)]),
  ]

  static let ends: [Bad] = [
    Bad(.fileOfSuccess, .download, .begun(.download), [.metrics, .success]),
    Bad(.fileOfSuccess, .download, .begun(.download), [.finishedDownloading, .metrics, .failure]),
    Bad(
      .bodyOfSuccess, .data,
      .begun(), [.response, .metrics, .completed(TaskEnd(.success, hasResponse: true))]),
    Bad(.bodyOfSuccess, .data, .begun(), [.metrics, .completed(TaskEnd(.failure, hasBody: true))]),
    Bad(.successHasAResponse, .data, .begun(), [.metrics, .success]),
    Bad(
      .successHasAResponse, .data,
      .begun(), [.response, .metrics, .completed(TaskEnd(.success, hasBody: true))]),
    Bad(.noSuccessWhileAsked, .asking(.response), .begun(), .asked(.response), [.metrics, .success]),
    Bad(
      .noSuccessWhileAsked, .asking(.sessionChallenge, kind: .download),
      .begun(.download), .asked(.sessionChallenge), [.finishedDownloading]),
    Bad(.cancelledIsCanceling, .data, .begun(), [.metrics, .cancelled]),
    Bad(.cancelledIsCanceling, .data, .begun(), [.response, .canceling, .metrics, .success]),
    Bad(.cancelledIsCanceling, .data, .begun(), [.canceling, .metrics, .failure]),
    Bad(.cancelledIsCanceling, .download, .begun(.download), [.canceling, .finishedDownloading]),
  ]

  @Test(arguments: bad) func `last symbol is refused by its rule`(_ row: Bad) {
    var life = TaskLifeAutomaton(row.circumstances)
    let (count, violation) = life.take(row.words)
    #expect(count == row.words.count - 1, "\(violation.map { "\($0)" } ?? "nothing was refused")")
    #expect(violation?.rule == row.rule && violation?.word == row.words.last)
  }

  @Test func `examples break every rule`() {
    #expect(Set(Self.bad.map(\.rule)) == Set(TaskRule.allCases))
  }
}
