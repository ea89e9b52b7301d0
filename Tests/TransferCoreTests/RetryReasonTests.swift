import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// The reason for a retry, and the members that a task has from the failure to the next start.
@Suite struct RetryReasonTests {
  private static func outcome(_ error: TransferError?, _ status: Int?) -> TransferOutcome {
    TransferOutcome(
      error: error, currentRequest: TransferRequest(url: "http://a.test/?q"),
      response: status.map {
        TransferResponse(
          url: "http://a.test/?q", status: $0, headers: HTTPHeaders(), expectedContentLength: -1,
          httpVersion: "HTTP/1.1")
      }, progress: TaskProgress(), transactions: [], endedAt: Timestamp(seconds: 1))
  }

  @Test(arguments: [429, 503]) func `status is the reason of a retry without error`(_ status: Int) {
    let reason = Self.outcome(nil, status).retryReason
    #expect(reason.reason == .url(.badServerResponse) && reason.status == status)
    #expect(reason.message == "the origin responded with status \(status)")
    #expect(reason.failingURL == "http://a.test/?q")
  }

  @Test func `error is the reason of a retry with any status`() {
    let error = TransferError(.networkConnectionLost, "gone", underlying: .init(library: "libcurl", code: 56))
    #expect(Self.outcome(error, 200).retryReason == error)
    #expect(Self.outcome(error, nil).retryReason == error)
  }

  /// Each way out of the wait, and the wait in the task's row afterwards.
  @Test func `wait lasts until the next attempt begins`() throws {
    let wait = RetryWait(
      lastError: Self.outcome(nil, 503).retryReason, nextAttemptAt: Timestamp(seconds: 1_700_000_900))
    let ways: [(inout SessionMachineHarness, TaskID) -> Void] = [
      { $0.fact(.began($1, at: $0.now.wall)) }, { $0.give(.fact(.attemptReplaced($1, at: $0.now.wall))) },
      { $0.fact(.waitsForConnectivity($1, at: $0.now.wall)) },
    ]
    for way in ways {
      var stage = SessionMachineHarness(.background)
      let id = stage.create(.download)
      stage.fact(.began(id, at: stage.now.wall))
      stage.give(.fact(.willRetry(id, count: 1, at: stage.now.wall, wait: wait)))
      #expect(stage.rows[id]?.retryWait == wait && stage.rows[id]?.shownRetryWait == wait)
      guard case .stateChanged(.running, let phase, let told)? = stage.events.last?.payload else {
        Issue.record("the last event is not a state change")
        continue
      }
      #expect(phase == .waitingToRetry && told == wait)
      // A suspended task keeps its wait, and shows it again after it is resumed.
      stage.give(.suspend(id))
      #expect(stage.rows[id]?.retryWait == wait && stage.rows[id]?.shownRetryWait == nil)
      stage.give(.resume(id))
      #expect(stage.machine.task(id)?.task.shownRetryWait == wait)
      way(&stage, id)
      #expect(stage.machine.task(id)?.task.retryWait == nil)
    }
  }
}
