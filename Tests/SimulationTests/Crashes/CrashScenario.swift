import EngineAPI
import JSON
import Ledger
import Simulation
import Synchronization
import Testing
import TransferCore
import TransferModel

@testable import TransferService

/// A scenario: the actions of a client, and the behaviour of the origin.
struct CrashScenario: Sendable, CustomTestStringConvertible {
  typealias Script = @Sendable (CrashWorld) throws -> Void

  let name: String
  var hasWorker = false
  var script: @Sendable (TransferJob, Int) -> [ScriptedEngine.ScriptStep] = { job, _ in
    job.kind == .download ? ScriptedOrigin.download : ScriptedOrigin.plain
  }
  var reply: @Sendable (SimulatedSender.Post) -> String? = { _ in nil }
  let live: Script
  /// The actions that the client repeats after the service went away.
  var again: Script = { _ in }

  var testDescription: String { name }

  /// Runs the scenario to its end, with or without a crash.
  /// - Parameter roomLeft: the number of commits after which the disk is full for a while.
  func run(commitsFirst: Bool, _ crash: CrashWorld.Crash? = nil, roomLeft: Int? = nil) -> CrashWorld {
    let world = CrashWorld(hasWorker: hasWorker, commitsFirst: commitsFirst, crash: crash, roomLeft: roomLeft)
    world.origin.script = script
    world.reply = reply
    func attempt(_ body: Script) -> Bool {
      do {
        try body(world)
        return true
      } catch is CrashWorld.Lost {
        return false
      } catch ServiceError.storeFull {
        try? world.rest()
        return false
      } catch {
        world.faults.append("\(error)")
        return true
      }
    }
    // Each crash may interrupt the client once.
    let hasLived = attempt(live) || (1...2).contains { _ in attempt(again) }
    let hasEnded = (1...3).contains { _ in attempt { try $0.finish() } }
    if !hasLived || !hasEnded { world.faults.append("the scenario did not finish") }
    world.check()
    return world
  }
}

// MARK: Client actions

extension CrashWorld {
  func createSession(
    _ adjust: @escaping @Sendable (inout SessionSpecification) -> Void = { _ in }
  ) throws -> SessionID {
    let session = try call { service in
      var specification = SessionSpecification()
      adjust(&specification)
      return try await service.sessions.create(specification, of: .default).session.id
    }
    acknowledged.sessions.insert(session)
    return session
  }

  func createTask(
    in session: SessionID, _ kind: TaskKind = .download, method: String = "GET",
    _ adjust: @escaping @Sendable (inout TaskSpecification) -> Void = { _ in }
  ) throws -> TaskID {
    var request = TransferRequest(url: "http://origin.test/\(kind)", method: method)
    if method == "POST" { request.body = .data([1, 2, 3]) }
    var specification = TaskSpecification(kind: kind, request: request)
    specification.resume = true
    adjust(&specification)
    let wanted = specification
    let id = try call { try await $0.tasks.create([wanted], in: $0.sessions.session(session))[0].id }
    acknowledged.tasks.insert(id)
    return id
  }

  func cancel(_ task: TaskID, producingResumeData: Bool = false) throws {
    if producingResumeData {
      _ = try call { try await $0.resumeData.cancel(task).task }
    } else {
      _ = try call { try await $0.tasks.cancel(task) }
    }
    acknowledged.cancelled.insert(task)
  }

  func suspend(_ task: TaskID) throws {
    _ = try call { try await $0.tasks.suspend(task) }
    acknowledged.suspended.insert(task)
  }

  func resume(_ task: TaskID) throws {
    // The command may have been executed even if its reply is lost.
    acknowledged.suspended.remove(task)
    _ = try call { try await $0.tasks.resume(task) }
  }

  /// Waits for the end of a task, and answers its decisions. A new worker may request a decision again.
  func waitForEnd(of task: TaskID) throws {
    for _ in 0..<20 {
      try rest()
      let found = try call { try await $0.tasks.task(task) }
      guard found.state != .completed else { return }
      for decision in try questions(of: found.sessionID) {
        try answer(decision, Self.usualAnswer(to: decision.type))
      }
      letTimePass()
    }
    faults.append("\(task) did not end")
  }

  /// Returns the open decisions.
  func questions(of session: SessionID) throws -> [Decision] {
    try call {
      try await $0.decisions.page(of: session, state: .pending, after: nil, order: .oldest, limit: 100)
    }
  }

  /// Waits for a decision of this type and answers it.
  func answer(_ type: EventType, in session: SessionID, _ text: String) throws {
    for attempt in 0..<20 {
      if let decision = try questions(of: session).first(where: { $0.type == type }) {
        return try answer(decision, text)
      }
      try rest()
      if attempt > 2 { letTimePass() }
    }
    faults.append("no decision \(type.rawValue) became pending")
  }

  func answer(_ decision: Decision, _ text: String) throws {
    let value = try JSONParser.parse(Array(text.utf8))
    do {
      _ = try call { try await $0.view(of: .default).answer(decision.id, with: value) }
    } catch ServiceError.decisionSettled {
      return
    }
    acknowledged.answered.insert(decision.id)
  }

  func invalidate(_ session: SessionID, _ mode: InvalidationMode) throws {
    _ = try call { try await $0.sessions.invalidate(session, mode) }
    acknowledged.invalidated.insert(session)
  }

  func delete(_ session: SessionID) throws {
    // The session may be deleted even if the reply is lost.
    acknowledged.deleted.insert(session)
    do {
      try call { try await $0.deleteSession(session) }
    } catch ServiceError.sessionNotFound {}
  }

  /// Brings everything to its end: resumes suspended tasks and answers every decision.
  func finish() throws {
    for _ in 0..<10 {
      try settle()
      let room = service.service.runtime
      let tasks = room.sessions().flatMap { session in
        room.read(at: session.id) { $0.residentTasks } ?? []
      }.sorted { $0.id < $1.id }
      for task in acknowledged.suspended.sorted() {
        guard let found = tasks.first(where: { $0.id == task }), found.state != .suspended else { continue }
        faults.append("\(task) was suspended, but is \(found.state)")
      }
      guard !tasks.isEmpty else { return }
      for task in tasks where task.state == .suspended { try resume(task.id) }
      for session in Set(tasks.map(\.sessionID)).sorted() {
        for decision in try questions(of: session) {
          try answer(decision, Self.usualAnswer(to: decision.type))
        }
      }
    }
  }

  private static func usualAnswer(to type: EventType) -> String {
    switch type {
    case .taskWillPerformHTTPRedirection: #"{"request":null}"#
    case .dataTaskDidReceiveResponse: #"{"disposition":"allow"}"#
    case .taskWillBeginDelayedRequest: #"{"disposition":"continueLoading"}"#
    default: #"{"disposition":"performDefaultHandling"}"#
    }
  }
}
