import JSON
import Testing

@testable import TransferModel

/// The members that describe a failed attempt while the task waits for the next one.
@Suite struct RetryWaitTests {
  private static let wait: RetryWait = {
    var error = TransferError(
      .badServerResponse, "the origin answered with status 503", failingURL: "http://a/")
    error.status = 503
    return RetryWait(lastError: error, nextAttemptAt: Timestamp(seconds: 1_769_860_800))
  }()

  private static func task(_ state: TaskState, _ phase: TaskPhase?) -> TransferTask {
    var task = TransferTask(
      id: ID(high: 1, low: 1), sessionID: .shared, taskIdentifier: 1, createdAt: Timestamp(seconds: 1),
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/")))
    task.lifecycle = TaskLifecycle(state: state, suspendCount: state == .suspended ? 1 : 0)
    if let phase { task.activity = phase }
    task.retryWait = wait
    return task
  }

  @Test(
    arguments: [(.running, .waitingToRetry, true)]
      + TaskPhase.allCases.filter { $0 != .waitingToRetry }.map { (.running, $0, false) }
      + [(.suspended, nil, false), (.canceling, nil, false), (.completed, nil, false)]
      as [(TaskState, TaskPhase?, Bool)])
  func `wait is shown only in phase waitingToRetry`(
    _ state: TaskState, _ phase: TaskPhase?, _ isShown: Bool
  ) throws {
    let json = try JSONParser.parse(Self.task(state, phase).json)
    #expect(json["lastError"]?["status"]?.integer == (isShown ? 503 : nil))
    #expect(json["lastError"]?["name"]?.string == (isShown ? "badServerResponse" : nil))
    #expect(json["nextAttemptAt"]?.string == (isShown ? "2026-01-31T12:00:00.000Z" : nil))
    #expect(json["error"] == .null)
  }

  @Test(arguments: [nil, wait]) func `state event contains a known wait`(_ wait: RetryWait?) throws {
    var writer = JSONWriter()
    TransferEvent(
      .taskDidChangeState, at: Timestamp(seconds: 1), session: .shared,
      .stateChanged(.running, .waitingToRetry, wait)
    ).encodeData(into: &writer)
    let data = try JSONParser.parse(writer.bytes)
    #expect(data["phase"]?.string == "waitingToRetry")
    #expect(data["lastError"]?["message"]?.string == wait?.lastError.message)
    #expect(data["nextAttemptAt"]?.string == wait?.nextAttemptAt.description)
  }

  @Test func `JSON of an error keeps its status`() throws {
    #expect(TransferError(json: try JSONParser.parse(Self.wait.lastError.json)) == Self.wait.lastError)
  }
}
