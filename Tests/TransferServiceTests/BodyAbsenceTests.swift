import Testing
import TransferModel

@testable import TransferService

@Suite struct BodyAbsenceTests {
  private static let now = Timestamp(seconds: 1_800_000_000)

  private static func task(_ change: (inout TransferTask) -> Void) -> TransferTask {
    var task = TransferTask(
      id: TaskID(high: 1, low: 1), sessionID: .shared, taskIdentifier: 1, createdAt: now,
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/")))
    task.completedAt = now.adding(seconds: -50)
    change(&task)
    return task
  }

  private static func body(expiring seconds: Double) -> TaskBody {
    TaskBody(size: 1, sha256: "", expiresAt: now.adding(seconds: seconds))
  }

  private static let tasks: [(TransferTask, BodyAbsence)] = [
    (task { $0.downloadTask = TaskID(high: 2, low: 2) }, .becameDownload(TaskID(high: 2, low: 2))),
    (task { $0.body = body(expiring: -1) }, .expired), (task { $0.body = body(expiring: 0) }, .expired),
    (task { $0.body = body(expiring: 1) }, .lost),
    (task { $0.error = TransferError(.cancelled, "") }, .cancelled),
    (task { $0.error = TransferError(.timedOut, "") }, .failed("timedOut")),
    (task { $0.error = TransferError(.bodyTooLarge, "") }, .failed("bodyTooLarge")),
    (task { _ in }, .removed), (task { $0.completedAt = now.adding(seconds: -100) }, .expired),
  ]

  @Test(arguments: tasks.indices) func `absence names its cause`(_ index: Int) {
    let (task, cause) = Self.tasks[index]
    #expect(BodyAbsence(of: task, retention: 100, hasSessionEnded: false, now: Self.now) == cause)
  }

  @Test func `invalid ephemeral session is the cause of an absence`() {
    let task = Self.task { $0.body = Self.body(expiring: 1) }
    #expect(BodyAbsence(of: task, retention: 100, hasSessionEnded: true, now: Self.now) == .sessionEnded)
  }
}
