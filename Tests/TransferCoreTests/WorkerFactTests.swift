import Testing
import TransferModel

@testable import TransferCore

/// Which facts of the engine the worker passes on to the service.
@Suite struct WorkerFactTests {
  private static let time = Timestamp(seconds: 1_700_000_000)
  private static let task = TaskID(high: 1, low: 2)
  private static let request = TransferRequest(url: "http://a.test/")

  private static func passedOn(_ fact: TransferFact, isServiceThere: Bool = true) -> Int {
    var worker = WorkerMachine(discretion: DiscretionaryPolicy())
    var turn = WorkerTurn(random: RandomSource(seed: 1))
    var now = Now(wall: time, uptime: .now)
    now.isServiceThere = isServiceThere
    worker.handle(.fact(fact), at: now, into: &turn)
    return turn.facts.count
  }

  private static let point = ResumePoint(
    partial: PartialBody(offset: 1, total: 2, validator: "\"v\""), source: task)

  @Test(
    arguments: [
      .keeps(task, point), .accepted(task, .ok), .willCache(task, .ok, size: 1, at: time),
      .asked(task, 1, .redirect(.ok, proposed: request), at: time), .asked(task, 2, .bodyStream, at: time),
    ] as [TransferFact])
  func factsThatConcernOnlyTheWorkerStayThere(_ fact: TransferFact) {
    #expect(Self.passedOn(fact) == 0)
  }

  @Test func progressIsPassedOnOnlyToARunningService() {
    let progress = TransferFact.progress(Self.task, TaskProgress(), at: Self.time)
    #expect(Self.passedOn(progress) == 1)
    #expect(Self.passedOn(progress, isServiceThere: false) == 0)
  }

  @Test func aRedirectIsPassedOn() {
    #expect(Self.passedOn(.redirected(Self.task, .ok, to: Self.request, at: Self.time)) == 1)
  }
}
