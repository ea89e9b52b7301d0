import Testing
import TransferModel

@testable import TransferCore

/// The facts of the engine that the worker passes on to the service.
@Suite struct WorkerFactTests {
  private static let time = Timestamp(seconds: 1_700_000_000)
  private static let task = TaskID(high: 1, low: 2)
  private static let request = TransferRequest(url: "http://a.test/")

  private static func passedOn(_ fact: TransferFact, isServiceThere: Bool = true) -> Int {
    var worker = WorkerMachine(discretion: DiscretionaryPolicy())
    var effects = WorkerEffects(random: RandomSource(seed: 1))
    var now = InputContext(wall: time, uptime: .now)
    now.isServiceReachable = isServiceThere
    worker.handle(.fact(fact), at: now, into: &effects)
    return effects.facts.count
  }

  private static let point = ResumePoint(
    partial: PartialBody(offset: 1, total: 2, validator: "\"v\""), source: task)

  @Test(
    arguments: [
      .keptPartial(task, point), .accepted(task, .ok), .willCache(task, .ok, size: 1, at: time),
      .asked(task, 1, .redirect(.ok, proposed: request), at: time), .asked(task, 2, .bodyStream, at: time),
    ] as [TransferFact])
  func `facts for the worker alone are not passed on`(_ fact: TransferFact) {
    #expect(Self.passedOn(fact) == 0)
  }

  @Test func `progress is passed on only to a reachable service`() {
    let progress = TransferFact.progress(Self.task, TaskProgress(), at: Self.time)
    #expect(Self.passedOn(progress) == 1)
    #expect(Self.passedOn(progress, isServiceThere: false) == 0)
  }

  @Test func `redirect is passed on`() {
    #expect(Self.passedOn(.redirected(Self.task, .ok, to: Self.request, at: Self.time)) == 1)
  }
}
