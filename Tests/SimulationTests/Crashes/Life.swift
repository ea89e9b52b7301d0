import EngineAPI
import JSON
import Ledger
import Simulation
import Synchronization
import Testing
import TransferCore
import TransferModel

@testable import TransferService

/// What a client does, and what happens to its tasks out there.
struct Life: Sendable, CustomTestStringConvertible {
  typealias Script = @Sendable (World) throws -> Void

  let name: String
  var hasWorker = false
  var script: @Sendable (TransferJob, Int) -> [ScriptedCarrier.Beat] = { job, _ in
    job.kind == .download ? ScriptedOrigin.download : ScriptedOrigin.plain
  }
  var reply: @Sendable (WebhookDelivery) -> String? = { _ in nil }
  let live: Script
  /// What the client does once more where the service went away in the middle.
  var again: Script = { _ in }

  var testDescription: String { name }

  /// Lives it to its end, with a crash or without one.
  /// - Parameter roomLeft: the disk is full after so many commits, for a while.
  func run(commitsFirst: Bool, _ crash: World.Crash? = nil, roomLeft: Int? = nil) -> World {
    let world = World(hasWorker: hasWorker, commitsFirst: commitsFirst, crash: crash, roomLeft: roomLeft)
    world.origin.script = script
    world.reply = reply
    func attempt(_ body: Script) -> Bool {
      do {
        try body(world)
        return true
      } catch is World.Lost {
        return false
      } catch ServiceError.storeFull {
        try? world.rest()
        return false
      } catch {
        world.faults.append("\(error)")
        return true
      }
    }
    // It may break off once for each crash.
    let hasLived = attempt(live) || (1...2).contains { _ in attempt(again) }
    let hasEnded = (1...3).contains { _ in attempt { try $0.finish() } }
    if !hasLived || !hasEnded { world.faults.append("it has no end") }
    world.check()
    return world
  }
}

// MARK: What clients say

extension World {
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
      _ = try call { try await $0.resumption.cancel(task).task }
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
    // It may have been taken, whether that is heard or not.
    acknowledged.suspended.remove(task)
    _ = try call { try await $0.tasks.resume(task) }
  }

  /// Waits, and answers what is asked meanwhile: who lost a worker is asked again.
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
    faults.append("\(task) does not end")
  }

  /// The questions that wait.
  func questions(of session: SessionID) throws -> [Decision] {
    try call { try await $0.decisions.page(of: session, state: .pending, after: nil, limit: 100) }
  }

  /// Answers the question of that kind, when it is asked.
  func answer(_ type: EventType, in session: SessionID, _ text: String) throws {
    for attempt in 0..<20 {
      if let decision = try questions(of: session).first(where: { $0.type == type }) {
        return try answer(decision, text)
      }
      try rest()
      if attempt > 2 { letTimePass() }
    }
    faults.append("nobody asks \(type.rawValue)")
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
    // It may be done, whether that is heard or not.
    acknowledged.deleted.insert(session)
    do {
      try call { try await $0.deleteSession(session) }
    } catch ServiceError.sessionNotFound {}
  }

  /// Sees to it that all comes to its end: what is suspended goes on, and every question gets an answer.
  func finish() throws {
    for _ in 0..<10 {
      try settle()
      let room = service.service.room
      let tasks = room.sessions().flatMap { session in
        room.look(at: session.id) { $0.residentTasks } ?? []
      }.sorted { $0.id < $1.id }
      for task in acknowledged.suspended.sorted() {
        guard let found = tasks.first(where: { $0.id == task }), found.state != .suspended else { continue }
        faults.append("\(task) was suspended, and is \(found.state)")
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
