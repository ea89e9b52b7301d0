import LifeCycle
import Testing
import TransferModel

@testable import TransferCore

/// With crashes at any moment, late answers and slow commits, every task ends once and its end is reported.
@Suite struct BackgroundWorldTests {
  @Test(arguments: 0..<200) func `every accepted task ends once`(_ seed: UInt64) {
    var world = BackgroundTaskSimulation(seed: seed)
    for _ in 0..<300 {
      world.step()
      world.check()
    }
    world.heal()
    world.check()
    world.read()
    for id in world.accepted {
      let task = world.ledger.tasks[id]
      #expect(task?.state == .completed, "\(id) has not ended: \(String(describing: task?.phase))")
      let ends = world.ledger.events.count { $0.taskID == id && $0.type == .taskDidComplete }
      #expect(ends == 1, "\(id) ended \(ends) times")
      if task?.originalRequest.isIdempotent == false {
        #expect(
          world.sends[id, default: 0] <= 1 + (task?.retryCount ?? 0),
          "\(id) was sent more often than its retry count allows")
      }
    }
    #expect(world.service.unfinished == 0 && world.service.tasks.count == 0)
    #expect(world.worker.attempts.isEmpty && world.ledger.work.isEmpty && world.ledger.commands.isEmpty)
    #expect(world.ledger.decisions.values.allSatisfy { $0.states.count == 1 })
  }
}

extension BackgroundTaskSimulation {
  mutating func step() {
    now.wall = now.wall.adding(seconds: 0.05)
    now.uptime += .milliseconds(50)
    let id = accepted.sorted().randomElement(using: &random)
    switch Int.random(in: 0..<24, using: &random) {
    case 0: if accepted.count < 5 { create(Bool.random(using: &random) ? "GET" : "POST") }
    case 1: if let id { give([.suspend(id)]) }
    case 2: if let id { give([.resume(id)]) }
    case 3:
      if let id, Int.random(in: 0..<4, using: &random) == 0 { give([.cancel(id, keepsPartial: false)]) }
    case 4: answer(id)
    case 5: if Int.random(in: 0..<4, using: &random) == 0 { restartService() }
    case 6: if Int.random(in: 0..<4, using: &random) == 0 { restartWorker(hasCrashed: false) }
    case 7: if Int.random(in: 0..<8, using: &random) == 0 { restartWorker(hasCrashed: true) }
    case 8...10: commitService()
    case 11...13: commitWorker()
    case 14...15: readNews()
    case 16...17: readCommand()
    case 18: ring()
    default: transfer()
    }
  }

  private mutating func answer(_ id: TaskID?) {
    guard let id, let question = service.task(id)?.question else { return }
    let answers: [DecisionAnswer] = [
      .challenge(.answer(.useNoCredential)), .challenge(.answer(.performDefaultHandling)),
      .challenge(.cancel),
    ]
    guard let answer = answers.randomElement(using: &random) else { return }
    give([.answer(id, question.decision, answer, shown: [], tag: nil)])
  }

  /// Fires the worker's oldest timer.
  private mutating func ring() {
    guard !alarms.isEmpty else { return }
    switch alarms.removeFirst() {
    case .begin(let id, _): give(.retryDue(id))
    case .cancelBegin: break
    case .retry(let id, let time):
      now.uptime = max(now.uptime, time)
      give(.retryDue(id))
    case .crashWindow(let id, let attempt, let time):
      now.uptime = max(now.uptime, time)
      give(.crashWindowPassed(id, attempt: attempt))
    }
  }

  /// Lets one transfer make a random step.
  private mutating func transfer() {
    guard let id = engine.keys.sorted().randomElement(using: &random), var transfer = engine[id] else {
      return
    }
    defer { if engine[id] != nil { engine[id] = transfer } }
    if transfer.isCancelled {
      engine[id] = nil
      return give(.fact(.ended(id, .end(of: transfer.task, at: now.wall, error: .cancelled))))
    }
    guard !transfer.isSuspended, !transfer.isAsked else { return }
    guard transfer.hasBegun else {
      transfer.hasBegun = true
      sends[id, default: 0] += 1
      return give(.fact(.began(id, at: now.wall)))
    }
    switch Int.random(in: 0..<6, using: &random) {
    case 0 where service.session.delegate?.taskChallenges == .ask:
      transfer.questions += 1
      transfer.isAsked = true
      engine[id] = transfer
      let challenge = AuthenticationChallenge(
        ProtectionSpace(
          host: "origin.test", port: 80, protocolName: "http", realm: "r", authenticationMethod: .httpBasic))
      let number = transfer.questions
      give(.fact(.asked(id, number, .challenge(challenge, .taskDidReceiveChallenge), at: now.wall)))
      if let changed = engine[id] { transfer = changed }
    case 1: give(.fact(.accepted(id, .ok)))
    case 2:
      engine[id] = nil
      give(.fact(.ended(id, .end(of: transfer.task, at: now.wall, error: .networkConnectionLost))))
    case 3:
      engine[id] = nil
      give(.fact(.ended(id, .end(of: transfer.task, at: now.wall))))
    default: break
    }
  }

  /// Checks the invariants of every step.
  func check() {
    for (id, decision) in ledger.decisions {
      #expect(decision.states.count <= 1, "\(id) was settled more than once: \(decision.states)")
    }
    for id in accepted { #expect(ledger.tasks[id] != nil, "\(id) is lost") }
  }

  /// Checks that the automata of the life cycle accept the events.
  func read() {
    var tasks: [TaskID: TaskLifeAutomaton] = [:]
    var whole = SessionLifeAutomaton(.background)
    for event in ledger.events {
      do {
        if let id = event.taskID, let word = TaskSymbol(event) {
          if tasks[id] == nil, let task = ledger.tasks[id] {
            tasks[id] = TaskLifeAutomaton(TaskTraits(of: task, in: ledger.session))
          }
          try tasks[id]?.accept(word)
          try whole.accept(SessionSymbol(word))
        } else if let word = SessionSymbol(event.type) {
          try whole.accept(word)
        }
      } catch {
        let story = ledger.events.filter { $0.taskID == event.taskID }.map {
          "\($0.type.rawValue) \($0.payload.phase)"
        }
        Issue.record("\(error): \(story.joined(separator: ", "))")
        return
      }
    }
    let open = tasks.values.count { !$0.isOver }
    #expect(open == 0)
  }

  /// Runs everything to its end without further crashes. Every decision is answered, and every timer fires.
  mutating func heal() {
    for _ in 0..<2000 {
      now.wall = now.wall.adding(seconds: 0.05)
      now.uptime += .milliseconds(50)
      for id in accepted.sorted() {
        if ledger.tasks[id]?.state == .suspended { give([.resume(id)]) }
        if service.task(id)?.question != nil { answer(id) }
      }
      for _ in 0..<4 { transfer() }
      ring()
      while !serviceTurns.isEmpty { commitService() }
      while !workerTurns.isEmpty { commitWorker() }
      readCommand()
      readNews()
      let isDone = service.unfinished == 0 && worker.attempts.isEmpty && ledger.commands.isEmpty
      if isDone, serviceTurns.isEmpty, workerTurns.isEmpty, ledger.news.isEmpty { return }
    }
  }
}

extension TransferEvent.Payload {
  /// The state and phase of a state event.
  fileprivate var phase: String {
    if case .stateChanged(let state, let phase, _) = self { "\(state) \(phase?.rawValue ?? "")" } else { "" }
  }
}
