import EngineAPI
import JSON
import Ledger
import Simulation
import TransferModel

@testable import TransferService

extension CrashScenario {
  static let all =
    ownLives + eitherLives(isBackground: false) + backgroundLives + eitherLives(isBackground: true)

  private static func challenge(of realm: String) -> AuthenticationChallenge {
    AuthenticationChallenge(
      ProtectionSpace(
        host: "origin.test", port: 80, protocolName: "http", realm: realm, authenticationMethod: .httpBasic))
  }
  private static let challenge = ScriptedEngine.ScriptStep.ask(
    .challenge(challenge(of: "r"), .taskDidReceiveChallenge),
    then: { _, _ in [ScriptedOrigin.head, ScriptedOrigin.end] })
  private static let password = #"{"disposition":"useCredential","credential":{"user":"u","password":"p"}}"#

  private static func asking(_ adjust: @escaping @Sendable (inout SessionDelegate) -> Void)
    -> @Sendable (inout SessionSpecification) -> Void
  {
    { specification in
      var delegate = SessionDelegate()
      adjust(&delegate)
      specification.delegate = delegate
    }
  }

  // MARK: Tasks of the service

  private static let ownLives: [CrashScenario] = [
    CrashScenario(name: "a download") { world in
      let session = try world.createSession()
      try world.waitForEnd(of: world.createTask(in: session))
    },
    CrashScenario(name: "several tasks at once, one of which fails") { job, _ in
      job.kind == .upload
        ? [ScriptedOrigin.began, .end(.cannotConnectToHost, status: nil, body: nil)] : ScriptedOrigin.download
    } live: { world in
      let session = try world.createSession()
      let tasks = [
        try world.createTask(in: session), try world.createTask(in: session, .upload, method: "POST"),
        try world.createTask(in: session),
      ]
      for task in tasks { try world.waitForEnd(of: task) }
      try world.invalidate(session, .finishTasks)
    },
    CrashScenario(name: "an answered challenge") { _, _ in
      [ScriptedOrigin.began, challenge]
    } live: { world in
      let session = try world.createSession(asking { $0.taskChallenges = .ask })
      let task = try world.createTask(in: session, .data)
      try world.answer(.taskDidReceiveChallenge, in: session, password)
      try world.waitForEnd(of: task)
    },
    CrashScenario(name: "a challenge that a webhook answers") { _, _ in
      [ScriptedOrigin.began, challenge]
    } reply: { _ in
      password
    } live: { world in
      let session = try world.createSession(
        asking { delegate in
          delegate.taskChallenges = .ask
          delegate.webhook = Webhook(url: "http://hook.test/", secret: nil)
          delegate.events = [.taskDidCreate, .taskDidComplete]
          delegate.webhookAnswers = true
        })
      let task = try world.createTask(in: session, .data)
      try world.waitForEnd(of: task)
      try world.settle()
    },
    CrashScenario(name: "a redirect decision") { job, _ in
      let proposed = TransferRequest(url: "http://other.test/")
      let redirect = TransferQuestion.redirect(ScriptedOrigin.response(302, job.request), proposed: proposed)
      return [
        ScriptedOrigin.began,
        .ask(redirect) { answer, _ in
          if case .redirect(nil) = answer { return [ScriptedOrigin.head, ScriptedOrigin.end] }
          return ScriptedOrigin.plain
        },
      ]
    } live: { world in
      let session = try world.createSession(asking { $0.asksForRedirects = true })
      let task = try world.createTask(in: session, .data)
      try world.answer(
        .taskWillPerformHTTPRedirection, in: session, #"{"request":{"url":"http://third.test/"}}"#)
      try world.waitForEnd(of: task)
    },
    CrashScenario(name: "a data task that becomes a download") { job, _ in
      [
        ScriptedOrigin.began,
        .ask(.response(ScriptedOrigin.response(200, job.request), BodyReference(nil))) { _, _ in
          [ScriptedOrigin.progress(3), ScriptedOrigin.end]
        },
      ]
    } live: { world in
      let session = try world.createSession(asking { $0.asksForResponses = true })
      let task = try world.createTask(in: session, .data)
      try world.answer(.dataTaskDidReceiveResponse, in: session, #"{"disposition":"becomeDownload"}"#)
      try world.waitForEnd(of: task)
      try world.settle()
      try world.invalidate(session, .finishTasks)
    },
    CrashScenario(name: "an Idempotency-Key") { world in
      let session = try world.createSession()
      let first = try world.createTask(in: session, under: "key")
      try world.waitForEnd(of: first)
      if try world.createTask(in: session, under: "key") != first {
        world.faults.append("a repeated request got a different reply")
      }
    } again: { world in
      let session = try world.ownSessions().first ?? world.createSession()
      _ = try world.createTask(in: session, under: "key")
      let count = try world.call {
        try await $0.lists.page(TaskQuery(session: session, limit: 10)).tasks.count
      }
      if count != 1 { world.faults.append("one Idempotency-Key created \(count) tasks") }
    },
    CrashScenario(name: "a deleted session") { world in
      let session = try world.createSession()
      for _ in 0..<2 { try world.waitForEnd(of: world.createTask(in: session)) }
      _ = try world.createTask(in: session, .upload, method: "POST")
      try world.invalidate(session, .cancelTasks)
      try world.settle()
      try world.delete(session)
    } again: { world in
      try world.deleteOwnSessions()
    },
    CrashScenario(name: "an ephemeral session") { world in
      let session = try world.call { service in
        var specification = SessionSpecification()
        specification.type = .ephemeral
        return try await service.sessions.create(specification, of: .default).session.id
      }
      let durable = try world.createSession()
      let task = try world.call { service in
        var specification = TaskSpecification(
          kind: .data, request: TransferRequest(url: "http://origin.test/data"))
        specification.resume = true
        return try await service.tasks.create([specification], in: service.sessions.session(session))[0].id
      }
      try world.waitForEnd(of: world.createTask(in: durable))
      try world.waitForEnd(of: task)
      _ = try world.call { try await $0.sessions.invalidate(session, .finishTasks) }
    },
  ]

  // MARK: Tasks of either process

  private static func eitherLives(isBackground: Bool) -> [CrashScenario] {
    let place = isBackground ? ", in the background" : ""
    @Sendable func kind(_ specification: inout SessionSpecification) {
      guard isBackground else { return }
      (specification.type, specification.identifier) = (.background, "a")
    }
    return [
      CrashScenario(name: "suspended and resumed" + place, hasWorker: isBackground) { world in
        let session = try world.createSession(kind)
        let task = try world.createTask(in: session)
        try world.suspend(task)
        try world.rest()
        try world.resume(task)
        try world.waitForEnd(of: task)
      },
      CrashScenario(name: "cancelled" + place, hasWorker: isBackground) { job, _ in
        [ScriptedOrigin.began, ScriptedOrigin.head, challenge]
      } live: { world in
        let session = try world.createSession {
          kind(&$0)
          asking { $0.taskChallenges = .ask }(&$0)
        }
        let task = try world.createTask(in: session, .upload, method: "POST")
        try world.cancel(task)
        try world.waitForEnd(of: task)
      },
      CrashScenario(name: "cancelled for resume data" + place, hasWorker: isBackground) { _, _ in
        [ScriptedOrigin.began, ScriptedOrigin.keeps, ScriptedOrigin.progress(9), challenge]
      } live: { world in
        let session = try world.createSession {
          kind(&$0)
          asking { $0.taskChallenges = .ask }(&$0)
        }
        let task = try world.createTask(in: session)
        try world.rest()
        try world.cancel(task, producingResumeData: true)
      },
      CrashScenario(name: "cancelled before it begins" + place, hasWorker: isBackground) { world in
        let session = try world.createSession(kind)
        let task = try world.createTask(in: session) { $0.resume = false }
        try world.cancel(task)
        try world.invalidate(session, .cancelTasks)
      },
      CrashScenario(name: "delayed" + place, hasWorker: isBackground) { world in
        let session = try world.createSession(kind)
        let task = try world.createTask(in: session, .upload, method: "POST") {
          $0.earliestBeginDate = CrashWorld.start.adding(seconds: 600)
        }
        try world.settle()
        try world.waitForEnd(of: task)
      },
      CrashScenario(name: "delayed, with a delegate decision" + place, hasWorker: isBackground) { world in
        let session = try world.createSession {
          kind(&$0)
          asking { $0.asksForDelayedRequests = true }(&$0)
        }
        let task = try world.createTask(in: session, .upload, method: "POST") {
          $0.earliestBeginDate = CrashWorld.start.adding(seconds: 600)
        }
        try world.answer(
          .taskWillBeginDelayedRequest, in: session,
          #"{"disposition":"useNewRequest","request":{"url":"http://origin.test/new","method":"POST"}}"#)
        try world.waitForEnd(of: task)
      },
    ]
  }

  // MARK: Tasks of the worker

  @Sendable private static func background(_ specification: inout SessionSpecification) {
    (specification.type, specification.identifier) = (.background, "a")
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    delegate.webhook = Webhook(url: "http://hook.test/", secret: nil)
    delegate.events = [.taskDidComplete]
    specification.delegate = delegate
  }

  private static let backgroundLives: [CrashScenario] = [
    CrashScenario(name: "a background session from creation to deletion", hasWorker: true) { world in
      let session = try world.createSession(background)
      let first = try world.createTask(in: session)
      _ = try world.createTask(in: session, .upload, method: "POST")
      try world.waitForEnd(of: first)
      try world.settle()
      _ = try world.createTask(in: session)
      try world.invalidate(session, .finishTasks)
    } again: { world in
      for session in try world.ownSessions() { try world.invalidate(session, .finishTasks) }
    },
    CrashScenario(name: "a retried POST", hasWorker: true) { _, number in
      number == 0
        ? [ScriptedOrigin.began, .end(.networkConnectionLost, status: nil, body: nil)] : ScriptedOrigin.plain
    } live: { world in
      let session = try world.createSession(background)
      let task = try world.createTask(in: session, .upload, method: "POST")
      try world.waitForEnd(of: task)
    },
    CrashScenario(name: "a POST with one attempt", hasWorker: true) { _, _ in
      ScriptedOrigin.plain
    } live: { world in
      let session = try world.createSession {
        background(&$0)
        var retry = RetryConfiguration()
        retry.maximumAttempts = 1
        $0.configuration.retry = retry
      }
      try world.waitForEnd(of: world.createTask(in: session, .upload, method: "POST"))
    },
    CrashScenario(name: "a busy origin", hasWorker: true) { _, number in
      number == 0
        ? [ScriptedOrigin.began, ScriptedOrigin.head, .end(nil, status: 503, body: [])] : ScriptedOrigin.plain
    } live: { world in
      let session = try world.createSession(background)
      try world.waitForEnd(of: world.createTask(in: session, .upload))
    },
    CrashScenario(name: "a challenge in the background", hasWorker: true) { _, _ in
      [ScriptedOrigin.began, challenge]
    } live: { world in
      let session = try world.createSession(background)
      let task = try world.createTask(in: session)
      try world.answer(.taskDidReceiveChallenge, in: session, password)
      try world.waitForEnd(of: task)
    },
    CrashScenario(name: "a challenge of a POST in the background", hasWorker: true) { _, _ in
      [ScriptedOrigin.began, challenge]
    } live: { world in
      let session = try world.createSession(background)
      let task = try world.createTask(in: session, .upload, method: "POST")
      try world.answer(.taskDidReceiveChallenge, in: session, password)
      try world.waitForEnd(of: task)
      try world.settle()
    },
    CrashScenario(name: "cancelled while it waits for a retry", hasWorker: true) { _, _ in
      [ScriptedOrigin.began, .end(.networkConnectionLost, status: nil, body: nil)]
    } live: { world in
      let session = try world.createSession(background)
      let task = try world.createTask(in: session, .upload, method: "POST")
      try world.rest()
      try world.cancel(task)
      try world.waitForEnd(of: task)
    } again: { world in
      for session in try world.ownSessions() { try world.invalidate(session, .cancelTasks) }
    },
    CrashScenario(name: "all cancelled at once, in the background", hasWorker: true) { _, _ in
      [ScriptedOrigin.began, ScriptedOrigin.keeps, challenge]
    } live: { world in
      let session = try world.createSession(background)
      for number in 0..<4 {
        _ = try world.createTask(
          in: session, number == 2 ? .upload : .download, method: number == 2 ? "POST" : "GET")
      }
      try world.invalidate(session, .cancelTasks)
    },
    CrashScenario(name: "a reused session identifier", hasWorker: true) { world in
      let first = try world.createSession(background)
      if try world.createSession(background) != first {
        world.faults.append("two sessions have the same identifier")
      }
      try world.waitForEnd(of: world.createTask(in: first))
      try world.invalidate(first, .finishTasks)
      try world.settle()
      let second = try world.createSession(background)
      if second == first { world.faults.append("a deleted session exists again") }
      try world.waitForEnd(of: world.createTask(in: second))
    },
    CrashScenario(name: "a suspended and resumed POST", hasWorker: true) { world in
      let session = try world.createSession(background)
      let task = try world.createTask(in: session, .upload, method: "POST")
      try world.suspend(task)
      try world.settle()
      try world.resume(task)
      try world.suspend(task)
      try world.resume(task)
      try world.waitForEnd(of: task)
    },
    CrashScenario(name: "a webhook that answers, in the background", hasWorker: true) { _, _ in
      [ScriptedOrigin.began, challenge]
    } reply: { delivery in
      delivery.decision == nil ? nil : password
    } live: { world in
      let session = try world.createSession {
        background(&$0)
        $0.delegate?.webhookAnswers = true
      }
      try world.waitForEnd(of: world.createTask(in: session, .upload, method: "POST"))
      try world.settle()
      try world.invalidate(session, .finishTasks)
    },
    // Each attempt is challenged for another realm, and the client has a password for each.
    CrashScenario(name: "an answer that crosses a take-over", hasWorker: true) { _, number in
      [
        ScriptedOrigin.began,
        .ask(.challenge(challenge(of: "realm-\(number)"), .taskDidReceiveChallenge)) { answer, _ in
          guard case .challenge(.useCredential(let credential)) = answer,
            case .password(let user, _) = credential.kind, user != "realm-\(number)"
          else { return [ScriptedOrigin.head, ScriptedOrigin.end] }
          return [.end(nil, status: CrashWorld.wrongAnswer, body: [])]
        },
      ]
    } live: { world in
      let session = try world.createSession(background)
      let task = try world.createTask(in: session)
      for _ in 0..<3 {
        for decision in try world.questions(of: session) {
          let realm = try JSONParser.parse(decision.arguments)["protectionSpace"]?["realm"]?.string ?? ""
          let password = #"{"disposition":"useCredential","credential":{"user":"\#(realm)","password":"p"}}"#
          try world.answer(decision, password)
        }
      }
      try world.waitForEnd(of: task)
    },
    CrashScenario(name: "a deleted background session", hasWorker: true) { world in
      let session = try world.createSession(background)
      try world.waitForEnd(of: world.createTask(in: session))
      _ = try world.createTask(in: session, .upload, method: "POST")
      try world.invalidate(session, .cancelTasks)
      try world.settle()
      try world.delete(session)
    } again: { world in
      try world.deleteOwnSessions()
    },
  ]
}

extension CrashWorld {
  /// Returns the sessions that clients have created.
  func ownSessions() throws -> [SessionID] {
    try call { service in
      service.sessions.page(of: .default, type: nil, state: nil, after: nil, order: .oldest, limit: 100).map(
        \.id
      ).filter {
        $0 != .shared
      }
    }
  }

  func deleteOwnSessions() throws {
    for session in try ownSessions() {
      try invalidate(session, .cancelTasks)
      try settle()
      try delete(session)
    }
  }

  /// Creates a task under an Idempotency-Key, or returns the task that was created under it.
  func createTask(in session: SessionID, under text: String) throws -> TaskID {
    let key = IdempotencyKey(tenant: .default, text: text)
    let id = try call { service in
      if case .replay(let reply) = try await service.idempotency.admit(key, digest: [1]) {
        return TaskID(String(decoding: reply.body, as: UTF8.self))
      }
      defer { service.idempotency.release(key) }
      var specification = TaskSpecification(
        kind: .data, request: TransferRequest(url: "http://origin.test/key"))
      specification.resume = true
      let time = service.identifiers.now()
      return try await service.tasks.create([specification], in: service.sessions.session(session)) { tasks in
        IdempotentReply(
          key: key, digest: [1], status: 201, contentType: "application/json", location: nil,
          body: Array("\(tasks[0].id)".utf8), createdAt: time)
      }[0].id
    }
    guard let id else {
      faults.append("a reply is lost")
      throw Lost()
    }
    acknowledged.tasks.insert(id)
    return id
  }
}
