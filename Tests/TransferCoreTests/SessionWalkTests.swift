import TestSupport
import Testing
import TransferModel

@testable import TransferCore

/// Commands, facts and timers in random order, with checks of the invariants after each.
@Suite struct SessionWalkTests {
  @Test(arguments: [SessionType.default, .ephemeral, .background], 0..<20)
  func `every task of a session ends once in any order of inputs`(_ type: SessionType, _ seed: Int) throws {
    var random = RandomSource(seed: UInt64(seed))
    var walk = Walk(type, &random)
    for _ in 0..<400 { walk.step(&random) }
    walk.finish()
    #expect(walk.stage.machine.unfinished == 0 && walk.stage.machine.session.state == .invalid)
    #expect(walk.stage.events.last?.type == .sessionDidBecomeInvalid)
  }

  private struct Walk {
    var stage: SessionMachineHarness
    var tasks: [TaskID] = []
    /// Ends that are not committed yet.
    var pending: [TaskID] = []
    var question = 0

    init(_ type: SessionType, _ random: inout RandomSource) {
      var delegate = SessionDelegate()
      delegate.taskChallenges = Bool.random(using: &random) ? .ask : nil
      delegate.asksForDelayedRequests = Bool.random(using: &random)
      delegate.webhook = Bool.random(using: &random) ? Webhook(url: "http://c.test", secret: nil) : nil
      delegate.events = [.taskDidComplete]
      stage = SessionMachineHarness(type, delegate: delegate)
    }

    mutating func step(_ random: inout RandomSource) {
      let id = tasks.randomElement(using: &random) ?? TaskID(high: 1, low: 1)
      let time = stage.now.wall
      switch Int.random(in: 0..<16, using: &random) {
      case 0...1 where stage.machine.session.state == .active && tasks.count < 40:
        let isDelayed = Int.random(in: 0..<4, using: &random) == 0
        tasks.append(
          stage.create(
            [.data, .download].randomElement(using: &random) ?? .data,
            isRunning: Bool.random(using: &random)
          ) { $0.earliestBeginDate = isDelayed ? time.adding(seconds: 0.01) : nil })
      case 2: stage.give(.resume(id))
      case 3: stage.give(.suspend(id))
      case 4: give(.cancel(id, keepsPartial: Bool.random(using: &random)))
      case 5: stage.give(.begin(id))
      case 6: fact(id) { .began($0.id, at: time) }
      case 7:
        question += 1
        let number = question
        fact(id) { .asked($0.id, number, .challenge(Self.challenge, .taskDidReceiveChallenge), at: time) }
      case 8: fact(id) { .response($0.id, .ok, BodyReference(nil), at: time) }
      case 9:
        guard let decision = stage.machine.task(id)?.question?.decision else { return }
        stage.give(.decisionExpired(id, decision))
      case 10:
        guard let open = stage.machine.task(id)?.question else { return }
        let answer: DecisionAnswer =
          if case .delayedRequest = open.kind { .delayed(.continueLoading, nil) } else {
            Bool.random(using: &random) ? .challenge(.answer(.useNoCredential)) : .challenge(.cancel)
          }
        give(.answer(id, open.decision, answer, shown: [], tag: nil))
      case 11:
        fact(id) { .ended($0.id, .end(of: $0, at: time, error: $0.state == .canceling ? .cancelled : nil)) }
      case 12 where stage.isCarriedElsewhere:
        if isCarried(id) {
          stage.give(
            .fact(
              .willRetry(
                id, count: 1, at: time,
                wait: RetryWait(lastError: TransferError(.timedOut, ""), nextAttemptAt: time))))
        }
      case 13 where stage.isCarriedElsewhere:
        if isCarried(id) { stage.give(.fact(.attemptReplaced(id, at: time))) }
      case 14:
        guard let message = stage.messages.randomElement(using: &random) else { return }
        stage.give(.settled([message.id]))
      default: hold()
      }
      check()
    }

    static let challenge = AuthenticationChallenge(
      ProtectionSpace(
        host: "o.test", port: 80, protocolName: "http", realm: "r", authenticationMethod: .httpBasic))

    private func isCarried(_ id: TaskID) -> Bool {
      guard let machine = stage.machine.task(id) else { return false }
      return machine.executionState.isSubmitted
    }

    /// Passes a fact of the engine, which reports only tasks that it has.
    private mutating func fact(_ id: TaskID, _ make: (TransferTask) -> TransferFact) {
      guard isCarried(id), let task = stage.machine.task(id)?.task else { return }
      give(.fact(make(task)))
    }

    private mutating func give(_ input: SessionInput) {
      let before = stage.ends
      stage.give(input, holds: false)
      pending += stage.ends.keys.filter { before[$0] == nil }
    }

    private mutating func hold() {
      guard !pending.isEmpty else { return }
      stage.give(.endsCommitted(pending.sorted()))
      pending = []
    }

    private func check() {
      #expect(stage.ends.values.allSatisfy { $0 == 1 }, "a task ended twice")
      var settled: [DecisionID: Int] = [:]
      for settlement in stage.settlements { settled[settlement.id, default: 0] += 1 }
      #expect(settled.values.allSatisfy { $0 == 1 }, "a decision was settled twice")
      let open = Set(tasks.compactMap { stage.machine.task($0)?.question?.decision })
      let asked = Set(stage.inquiries.compactMap { $0.event.decision?.id })
      #expect(asked.subtracting(settled.keys) == open, "a decision is neither open nor settled")
    }

    mutating func finish() {
      hold()
      give(.invalidate)
      give(.cancelTasks(stage.machine.tasksToCancel()))
      let time = stage.now.wall
      for id in tasks {
        guard let machine = stage.machine.task(id), !machine.isEnding else { continue }
        fact(id) { .ended($0.id, .end(of: $0, at: time, error: .cancelled)) }
      }
      hold()
      check()
      for id in tasks {
        let types = stage.types(of: id)
        #expect(types.count { $0 == .taskDidComplete } == 1 && types.last == .taskDidComplete, "\(types)")
        #expect(stage.rows[id]?.state == .completed)
      }
    }
  }
}
