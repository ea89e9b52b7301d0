import Crypto
import HTTPCookies
import Ledger
import LedgerConformance
import Records
import SQLiteLedger
import TestSupport
import Testing
import TransferModel

/// Applies the same random changes to the simulated ledger and to the SQLite ledger, and compares all records. There are few ids, so that
/// changes concern the same rows.
@Suite(.serialized) struct LedgerDifferenceTests {
  private static let time = LedgerBench.time
  private static let few: UInt64 = 6
  private static let sqlite = LedgerKind {
    let path = TemporaryDirectory.make("ferry-store") + "/test.db"
    let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
    return { publish in try SQLiteLedger(path: path, box: box, published: publish) }
  }

  /// A random generator of changes.
  private struct Lot {
    var random: SplitMix64

    mutating func number(_ count: UInt64 = few) -> UInt64 { random.next() % count + 1 }
    mutating func isTrue(_ parts: UInt64 = 2) -> Bool { random.next().isMultiple(of: parts) }
    mutating func id<Kind>(_ kind: ID<Kind>.Type = ID<Kind>.self) -> ID<Kind> { LedgerBench.id(number()) }
    mutating func moment() -> Timestamp { time.adding(seconds: Double(number(9))) }
    /// Returns a session id. Sessions 1 and 2 are durable, 3 is a background session, and 4 is in memory.
    mutating func session() -> SessionID { LedgerBench.id(number(4)) }
    /// Returns the session of a task, by the task's number.
    static func session(of task: UInt64) -> SessionID { LedgerBench.id((task - 1) % 4 + 1) }

    mutating func task(isNew: Bool) -> TransferTask {
      let number = number()
      let body: RequestContent? = number.isMultiple(of: 3) ? .data([UInt8(number)]) : nil
      var specification = TaskSpecification(
        kind: number.isMultiple(of: 2) ? .data : .download,
        request: TransferRequest(url: "http://a/\(number)", method: "POST", body: body))
      specification.priority = Double(self.number()) / 8
      var task = TransferTask(
        id: LedgerBench.id(number), sessionID: Self.session(of: number), taskIdentifier: Int(number),
        createdAt: time, specification: specification)
      guard !isNew else { return task }
      if isTrue() { _ = task.lifecycle.resume() }
      task.currentRequest.url = "http://b/\(number)"
      if isTrue() { task.startRequest = StartRequest(task.currentRequest) }
      task.retryCount = Int(self.number())
      if isTrue() {
        task.retryProgress = RetryProgress()
        task.retryProgress?.attempts = Int(self.number())
      }
      if isTrue() {
        task.retryWait = RetryWait(lastError: TransferError(.timedOut, "x"), nextAttemptAt: moment())
      }
      (task.activity, task.firstAttempt) = (.transferring, .started(moment()))
      guard isTrue() else { return task }
      _ = task.lifecycle.complete()
      task.completedAt = moment()
      if isTrue() {
        task.body = TaskBody(size: Int64(self.number()), sha256: "ab", expiresAt: moment())
      } else {
        task.error = TransferError(.cancelled, "x")
        task.error?.resumeDataAvailable = true
        task.partial = ResumePoint(
          partial: PartialBody(offset: 7, total: 9, validator: "v"), source: task.id)
        task.partialExpiresAt = moment()
      }
      if isTrue() { task.metrics = TaskMetrics(start: time, end: moment(), transactions: []) }
      return task
    }

    mutating func event() -> TransferEvent {
      let task = number()
      let type: EventType = isTrue(4) ? .dataTaskDidReceiveData : .taskDidChangeState
      return TransferEvent(
        type, at: moment(), session: Self.session(of: task), task: LedgerBench.id(task),
        type.isProgress ? .progress(TaskProgress(), delta: 1) : .stateChanged(.running, nil))
    }

    mutating func delivery() -> WebhookDelivery {
      let task = number()
      let isWakeUp = isTrue(3)
      var delivery = WebhookDelivery.sample(
        id: LedgerBench.id(number()), sessionID: Self.session(of: task),
        taskID: isWakeUp ? nil : LedgerBench.id(task),
        type: isWakeUp ? .sessionHandleEvents : .taskDidComplete,
        webhook: isWakeUp ? nil : Webhook(url: "http://a/", secret: nil), payload: [UInt8(task)],
        createdAt: moment(), order: isWakeUp ? .none : .task)
      guard isTrue() else { return delivery }
      (delivery.state, delivery.finishedAt) = (isTrue() ? .delivered : .failed, moment())
      return delivery
    }

    mutating func decision() -> Decision {
      let task = number()
      var decision = Decision(
        id: id(), type: .taskDidReceiveChallenge, sessionID: Self.session(of: task),
        taskID: LedgerBench.id(task),
        createdAt: time, expiresAt: moment(), defaultAnswer: "x", arguments: [], question: Int(task))
      if isTrue() { (decision.state, decision.answer) = (.answered, [1]) }
      return decision
    }

    init(random: SplitMix64) { self.random = random }

    mutating func change() -> LedgerChange {
      var change = LedgerChange()
      switch number(14) {
      case 1, 2: change.createdTasks = [task(isNew: true)]
      case 3, 4:
        change.updatedTasks = [task(isNew: false)]
        if isTrue() { change.smallBodies = [change.updatedTasks[0].id: [1, 2]] }
      case 5: change.editedTasks = [task(isNew: true)]
      case 6: change.newDeliveries = [delivery()]
      case 7: change.updatedDeliveries = [delivery()]
      case 8: change.newDecisions = [decision()]
      case 9:
        change.settledDecisions = [SettledDecision(decision())]
        if isTrue(3) { change.ownership = .takesOver([]) }
      case 10: addWork(to: &change)
      case 11: addKept(to: &change)
      case 12: change.pruning = pruning()
      case 13: removeSession(in: &change)
      default: change.lastIdentifiers = [session(): Int(number())]
      }
      if isTrue() { change.events = (0..<number(3)).map { _ in event() } }
      return change
    }

    private mutating func addWork(to change: inout LedgerChange) {
      let task = number()
      change.commands = [StoredCommand(session: Self.session(of: task), document: "c\(task)")]
      change.work = [StoredWork(task: LedgerBench.id(task), session: Self.session(of: task), document: "w")]
      change.workerReports = ["n\(task)"]
      if isTrue() { change.takenCommands = [Int64(number())...Int64(number()) + 6] }
      if isTrue() { change.consumedReports = [Int64(number())...Int64(number()) + 6] }
      if isTrue() { change.finishedWork = [id()] }
    }

    private mutating func tenant() -> Tenant { isTrue() ? .default : Tenant(name: "t") }

    private mutating func addKept(to change: inout LedgerChange) {
      let name = "\(number())"
      let reply = IdempotentReply(
        key: IdempotencyKey(tenant: tenant(), text: name), digest: [1], status: 201, contentType: "a",
        location: nil, body: [],
        createdAt: moment())
      change.replaceReply(reply, about: session())
      change.configurations = [
        NamedConfiguration(
          name: ConfigurationName(tenant: tenant(), text: name), configuration: SessionConfiguration(),
          createdAt: moment(), updatedAt: moment())
      ]
      if isTrue() {
        change.deletedConfigurations = [ConfigurationName(tenant: tenant(), text: "\(number())")]
      }
      let file = StoredFile(
        id: id(), tenant: tenant(), createdAt: time, size: 1, sha256: "", contentType: nil, fromTask: nil)
      if isTrue() { change.newFiles = [file] } else { change.deletedFiles = [file.id] }
      let cookie = Cookie(
        name: name, value: "\(number())", domain: "a.test", isHostOnly: true, path: "/", expiresDate: nil,
        isSecure: true, isHTTPOnly: false, sameSite: nil, created: time, lastAccess: time)
      change.cookies = [(session(), isTrue(3) ? .removed(cookie.key) : .stored(cookie))]
      let space = ProtectionSpace(host: "a.test", port: Int(number()), protocolName: "http")
      let credential = Credential(user: name, password: "p", persistence: .permanent)
      change.credentials = [StoredCredential(session: session(), space: space, credential: credential)]
      if isTrue() { change.deletedCredentials = [(session(), space)] }
    }

    private mutating func pruning() -> Pruning {
      var pruning = Pruning()
      if isTrue() { pruning.tasks = [id()] }
      if isTrue() { pruning.bodies = [id()] }
      if isTrue() { pruning.events = PrunedEvents(through: Int64(number(20)), time: moment()) }
      if isTrue() { pruning.records.deliveries = [id()] }
      if isTrue() { pruning.records.decisions = [id()] }
      return pruning
    }

    private mutating func removeSession(in change: inout LedgerChange) {
      switch number(4) {
      case 1: change.sessionOfDeletedBodies = LedgerBench.id(4)
      case 2: change.partlyDeletedSession = session()
      case 3: change.deletedSession = session()
      default: break
      }
    }
  }

  private static var sessions: [TransferSession] {
    let types: [SessionType] = [.default, .default, .background, .default]
    return zip(1..., types).map { number, type in
      TransferSession(
        id: LedgerBench.id(UInt64(number)), type: type, createdAt: time, description: nil,
        configuration: SessionConfiguration(), delegate: nil, identifier: type == .background ? "a" : nil)
    }
  }

  /// Returns a task as text. The description of a class would show its address.
  private static func text(_ task: TransferTask) -> String {
    let parts: [Any?] = [
      task.id, task.sessionID, task.priority, task.lifecycle, task.phase, task.originalRequest,
      task.currentRequest, task.startRequest, task.response, task.progress, task.error, task.body,
      task.partial,
      task.partialExpiresAt, task.retryCount, task.retryWait, task.retryProgress, task.startedAt,
      task.completedAt, task.metrics,
    ]
    return parts.map { $0.map { "\($0)" } ?? "nil" }.joined(separator: " | ")
  }

  /// Returns all readable records as text.
  private static func contents(_ store: any Ledger) async throws -> [String] {
    var lines: [String] = []
    func add(_ name: String, _ value: Any) { lines.append("\(name): \(value)") }
    let late = time.adding(seconds: 5)
    add("last", store.lastSequence)
    add("sessions", try await store.sessions())
    for (session, _) in try await store.sessions() {
      add("session", try await store.session(session.id) as Any)
    }
    let ids = (1...few).map { LedgerBench.id($0) as TaskID }
    add("unfinished", try await store.unfinishedTasks(after: nil, limit: 99).map(text))
    add("tasks", try await store.tasks(ids).map(text))
    for id in ids {
      add("task", try await store.task(id).map(text) as Any)
      add("body", try await store.smallBody(of: id) as Any)
      add("file", try await store.hasBodyFile(id))
      add("metrics", try await store.metrics(of: id).map { String(decoding: $0, as: UTF8.self) } as Any)
      add("held", try await store.hasPendingDelivery(id))
      add("journal", try await store.journal(.task(id), after: 2, maximumBytes: 300))
      add("decision", try await store.decision(LedgerBench.id(id.low & 0xFF)) as Any)
    }
    for session in sessions.map(\.id) {
      add("of session", try await store.tasks(TaskQuery(session: session, limit: 99)).map(\.id))
      add("files", try await store.bodyFiles(of: session))
      add("has", try await store.hasTasks(session))
      add("decisions", try await store.decisions(of: session, state: nil, after: nil, limit: 99))
      add("journal", try await store.journal(.session(session), after: 0, maximumBytes: 500))
    }
    add("journal", try await store.journal(.tenant(.default), after: 0, maximumBytes: 1 << 20))
    add("page", try await store.journal(.tenant(.default), after: 3, maximumBytes: 400))
    add("commands", try await store.commands(after: 0, limit: 99))
    add("worker reports", try await store.workerReports(after: 0, limit: 99))
    add("last worker report", try await store.lastWorkerReport() as Any)
    add("work", try await store.work())
    for query in [FinishedTaskQuery.ended(by: late), .expired(by: late), .keeping] {
      add("finished", try await store.finishedTasks(query, limit: 99).map { "\($0)" }.sorted())
    }
    add("kept", try await store.keptBytes())
    add("aged", try await store.oldestEvents(limit: 4))
    let stale = try await store.staleRecords(
      .init(deliveries: late, decisions: late, replies: late, groups: late), limit: 99)
    add("stale", [stale.deliveries.map(\.description).sorted(), stale.decisions.map(\.description)])
    add("stale groups", stale.groups.map { "\($0)" }.sorted())
    add("stale replies", stale.replies.map { "\($0)" }.sorted())
    add("due", try await store.dueSamples(at: late).map { "\($0)" }.sorted())
    add("background", try await store.pendingBackgroundDeliveries().map { "\($0)" }.sorted())
    add("next", try await store.nextSampleTime(after: Timestamp(microseconds: 1)) as Any)
    add("destinations", try await store.pendingDestinations(after: nil, limit: 9))
    for order in ListOrder.allCases {
      var query = DeliveryQuery(of: .default, limit: 99)
      query.order = order
      add("deliveries \(order)", try await store.deliveries(query).map(\.id))
    }
    for tenant in [Tenant.default, Tenant(name: "t")] {
      for number in 1...few {
        let key = IdempotencyKey(tenant: tenant, text: "\(number)")
        add("reply", try await store.reply(under: key) as Any)
      }
      add("configurations", try await store.configurations(of: tenant, after: nil, limit: 99))
      add("files", try await store.files(of: tenant, after: nil, limit: 99))
      add("journal", try await store.journal(.tenant(tenant), after: 0, maximumBytes: 1 << 20))
    }
    add("sessions with storage", try await store.sessionsWithStorage())
    for session in Self.sessions {
      add("cookies", try await store.storage(of: session.id).cookies)
      add("credentials", try await store.storage(of: session.id).credentials)
    }
    return lines
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>) func ledgersReadEqualRecords(_ seed: UInt64) async throws {
    let benches = [Self.sqlite, .simulated].map { LedgerBench($0) }
    var lot = Lot(random: SplitMix64(seed: seed))
    for _ in 0..<2 {
      let stores = try benches.map { try $0.open() }
      for store in stores { try await store.write { $0.sessions = Self.sessions } }
      for _ in 0..<60 {
        var change = lot.change()
        // Pruning cannot pass the last event.
        if let events = change.pruning?.events {
          change.pruning?.events?.through = min(events.through, stores[0].lastSequence)
        }
        var taken: [Bool] = []
        for store in stores { taken.append((try? await store.write(change)) != nil) }
        #expect(taken[0] == taken[1], "\(change)")
      }
      let contents = [try await Self.contents(stores[0]), try await Self.contents(stores[1])]
      for (sqlite, memory) in zip(contents[0], contents[1]) { #expect(sqlite == memory) }
      for store in stores { await store.close() }
    }
    #expect(benches[0].published == benches[1].published)
  }
}
