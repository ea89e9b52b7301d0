import HTTPFields
import Ledger
import Testing
import TransferModel

/// The contract for sessions, tasks, events, deliveries and replies.
struct RecordConformance {
  static let cases: [ConformanceCase] = [
    .init("taskIsReadAsWritten") { try await Self().taskIsReadAsWritten($0) },
    .init("reportedPhaseIsStored") { try await Self().reportedPhaseIsStored($0) },
    .init("emptyBodyIsStored") { try await Self().emptyBodyIsStored($0) },
    .init("eventNumbersHaveNoGapsAfterReopening") {
      try await Self().eventNumbersHaveNoGapsAfterReopening($0)
    },
    .init("concurrentWritesArePublishedInOrder") {
      try await Self().concurrentWritesArePublishedInOrder($0)
    },
    .init("failedWriteDoesNotAffectOtherWrites") {
      try await Self().failedWriteDoesNotAffectOtherWrites($0)
    },
    .init("journalIsReadByScopeAndCursor") { try await Self().journalIsReadByScopeAndCursor($0) },
    .init("dueDeliveriesAreReadInOrderUntilSettled") {
      try await Self().dueDeliveriesAreReadInOrderUntilSettled($0)
    },
    .init("sessionsAndRepliesAreReadAsWritten") {
      try await Self().sessionsAndRepliesAreReadAsWritten($0)
    },
    .init("backgroundSessionIsReadAsLastWritten") {
      try await Self().backgroundSessionIsReadAsLastWritten($0)
    },
    .init("pendingBackgroundDeliveriesAreListed") {
      try await Self().pendingBackgroundDeliveriesAreListed($0)
    },
    .init("deletedSessionLosesTasksAndEvents") {
      try await Self().deletedSessionLosesTasksAndEvents($0)
    },
  ]

  private static let time = Timestamp(seconds: 1_800_000_000)

  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }

  private static func task(_ number: UInt64, in session: SessionID = .shared) -> TransferTask {
    var request = TransferRequest(
      url: "http://example.com/\(number)", method: "POST", body: .data([1, 2, 0, 255]))
    request.headers.append("Accept", "a/b")
    request.timeoutInterval = 2.5
    var specification = TaskSpecification(kind: .download, request: request)
    specification.description = "täsk \"\(number)\""
    specification.priority = 0.25
    specification.completion = Webhook(url: "http://example.com/hook", secret: "whsec_x")
    return TransferTask(
      id: id(number), sessionID: session, taskIdentifier: Int(number), createdAt: time,
      specification: specification)
  }

  private static func event(_ type: EventType, _ task: TransferTask) -> TransferEvent {
    TransferEvent(type, at: time, session: task.sessionID, task: task.id, .stateChanged(.running, nil))
  }

  private func create(_ store: any Ledger, _ tasks: [TransferTask]) async throws {
    var change = LedgerChange()
    change.createdTasks = tasks
    change.events = tasks.map { Self.event(.taskDidCreate, $0) }
    try await store.write(change)
  }

  func taskIsReadAsWritten(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    var task = Self.task(1)
    do {
      let store = try bench.open()
      try await create(store, [task])
      #expect(try await store.task(task.id) == task)
      _ = task.lifecycle.resume()
      _ = task.lifecycle.complete()
      task.currentRequest.url = "http://example.com/moved"
      // A request from the delegate may have a body of its own.
      task.currentRequest.body = .data([7, 0, 255])
      task.retryCount = 3
      task.retryProgress = RetryProgress()
      task.retryProgress?.attempts = 4
      task.retryProgress?.isActive = true
      task.startRequest = StartRequest(task.originalRequest)
      task.startRequest?.request.url = "http://example.com/signed"
      task.startRequest?.changes = 1
      var headers = HTTPHeaders()
      headers.append("Content-Type", "text/plain; charset=utf-8")
      task.response = TransferResponse(
        url: "http://example.com/moved", status: 404, headers: headers, expectedContentLength: 5,
        httpVersion: "HTTP/2")
      task.progress.countOfBytesReceived = 5
      task.progress.countOfBytesExpectedToReceive = 5
      task.error = TransferError(.destinationNotPermitted, "no", failingURL: "http://a", rule: "loopback")
      task.body = TaskBody(size: 5, sha256: "ab", expiresAt: Self.time)
      task.firstAttempt = .started(Self.time)
      task.completedAt = Self.time
      var change = LedgerChange()
      change.updatedTasks = [task]
      change.smallBodies[task.id] = [0, 1, 2, 3, 4]
      try await store.write(change)
      await store.close()
    }
    let store = try bench.open()
    #expect(try await store.task(task.id) == task)
    #expect(try await store.smallBody(of: task.id) == [0, 1, 2, 3, 4])
    #expect(try await store.hasBodyFile(task.id) == false)
    await store.close()
  }

  /// The phase that clients were last notified of is stored.
  func reportedPhaseIsStored(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let store = try bench.open()
    for (number, phase) in TaskPhase.allCases.enumerated() {
      var task = Self.task(UInt64(number + 1))
      _ = task.lifecycle.resume()
      try await create(store, [task])
      for beginning in [FirstAttemptState.notStarted, .started(Self.time)] {
        (task.activity, task.firstAttempt) = (phase, beginning)
        var change = LedgerChange()
        change.updatedTasks = [task]
        try await store.write(change)
        #expect(try await store.task(task.id)?.phase == phase)
      }
      _ = task.lifecycle.suspend()
      var change = LedgerChange()
      change.updatedTasks = [task]
      try await store.write(change)
      #expect(try await store.task(task.id)?.phase == nil)
    }
    await store.close()
  }

  func emptyBodyIsStored(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    var task = Self.task(2)
    try await create(store, [task])
    task.body = TaskBody(size: 0, sha256: "", expiresAt: Self.time)
    var change = LedgerChange()
    change.updatedTasks = [task]
    change.smallBodies[task.id] = []
    try await store.write(change)
    #expect(try await store.smallBody(of: task.id) == [])
    await store.close()
  }

  func eventNumbersHaveNoGapsAfterReopening(_ kind: LedgerKind)
    async throws
  {
    let bench = LedgerBench(kind)
    for round in 0..<3 {
      let store = try bench.open()
      try await create(store, (0..<4).map { Self.task(UInt64(round * 10 + $0)) })
      await store.close()
    }
    let numbers = bench.published.flatMap { Array($0.first...$0.last) }
    #expect(numbers == Array(1...12))
  }

  func concurrentWritesArePublishedInOrder(
    _ kind: LedgerKind
  ) async throws {
    let bench = LedgerBench(kind)
    let store = try bench.open()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...500 {
        group.addTask { try await create(store, [Self.task(UInt64(number))]) }
      }
      try await group.waitForAll()
    }
    #expect(try await store.unfinishedTasks(after: nil, limit: 1000).count == 500)
    // A commit is published after its caller resumes; `close` waits for that.
    await store.close()
    let firsts = bench.published.map(\.first)
    #expect(firsts == Array(1...500))
  }

  func failedWriteDoesNotAffectOtherWrites(_ kind: LedgerKind)
    async throws
  {
    let bench = LedgerBench(kind)
    let store = try bench.open()
    try await create(store, [Self.task(1)])
    var outcomes: [Bool] = []
    await withTaskGroup(of: Bool.self) { group in
      for number in [1, 2, 3] as [UInt64] {  // 1 exists: its insert violates the primary key
        group.addTask { (try? await create(store, [Self.task(number)])) != nil }
      }
      for await outcome in group { outcomes.append(outcome) }
    }
    #expect(outcomes.count { $0 } == 2)
    await store.close()
    let numbers = bench.published.flatMap { Array($0.first...$0.last) }
    #expect(numbers == [1, 2, 3])
  }

  func journalIsReadByScopeAndCursor(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let other: SessionID = Self.id(77)
    let tasks = (1...6).map { Self.task(UInt64($0), in: $0.isMultiple(of: 2) ? other : .shared) }
    let (tenant, nobody) = (Tenant(name: "t"), Tenant(name: "u"))
    var change = LedgerChange()
    change.sessions = [
      .shared(.shared, of: .default),
      TransferSession(
        id: other, createdAt: Self.time, description: nil, configuration: .init(), delegate: nil,
        tenant: tenant),
    ]
    try await store.write(change)
    try await create(store, tasks)
    change = LedgerChange()
    change.events = [Self.event(.taskDidChangeState, tasks[1]), Self.event(.taskDidComplete, tasks[1])]
    try await store.write(change)
    func sequences(_ scope: EventScope, after: Int64) async throws -> [Int64] {
      try await store.journal(scope, after: after, maximumBytes: 1 << 20).fragments.map(\.last)
    }
    #expect(try await sequences(.tenant(.default), after: 0) == [1, 3, 5])
    #expect(try await sequences(.tenant(tenant), after: 0) == [2, 4, 6, 8])
    #expect(try await sequences(.tenant(tenant), after: 7) == [8])
    #expect(try await sequences(.tenant(nobody), after: 0) == [])
    #expect(try await sequences(.session(other), after: 0) == [2, 4, 6, 8])
    #expect(try await sequences(.task(tasks[1].id), after: 2) == [8])
    #expect(try await sequences(.task(tasks[1].id), after: 8) == [])
    let page = try await store.journal(.tenant(.default), after: 0, maximumBytes: 1)
    #expect(page.fragments.count == 1 && !page.isLast && page.coveredSequence == 1)
    await store.close()
  }

  func dueDeliveriesAreReadInOrderUntilSettled(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    var deliveries = (1...3).map { number in
      WebhookDelivery.sample(
        id: Self.id(UInt64(number)), sessionID: .shared,
        webhook: number == 1 ? nil : Webhook(url: "http://a", secret: "s"), payload: [123, 125],
        createdAt: Self.time)
    }
    deliveries[1].nextAttemptAt = Self.time.adding(seconds: 60)
    var change = LedgerChange()
    change.newDeliveries = deliveries
    try await store.write(change)
    #expect(try await store.dueSamples(at: Self.time) == [deliveries[0], deliveries[2]])
    #expect(try await store.nextSampleTime(after: Self.time) == Self.time.adding(seconds: 60))
    deliveries[0].finish(.delivered, at: Self.time)
    deliveries[2].record(
      DeliveryAttempt(at: Self.time.adding(seconds: 2), status: 500, latency: 0.5, reply: "no", error: nil))
    deliveries[2].schedulePlace = 1
    deliveries[2].nextAttemptAt = Self.time.adding(seconds: 5)
    change = LedgerChange()
    change.updatedDeliveries = [deliveries[0], deliveries[2]]
    try await store.write(change)
    #expect(try await store.dueSamples(at: Self.time.adding(seconds: 2)) == [])
    #expect(try await store.nextSampleTime(after: Self.time) == Self.time.adding(seconds: 5))
    // After a clock was set back, a delivery with its last attempt in the future is due at once.
    let early = Self.time.adding(seconds: -59)
    #expect(try await store.dueSamples(at: early) == [])
    #expect(
      try await store.dueSamples(at: Self.time.adding(seconds: -58), includingFutureAttempts: true) == [])
    #expect(try await store.dueSamples(at: early, includingFutureAttempts: true) == [deliveries[2]])
    let start = Timestamp(microseconds: 1)
    #expect(
      try await store.dueSamples(at: start, includingFutureAttempts: true) == [deliveries[2], deliveries[1]])
    #expect(try await store.dueSamples(at: start, limit: 1, includingFutureAttempts: true) == [deliveries[2]])
    #expect(try await store.dueSamples(at: Self.time.adding(seconds: 90)) == [deliveries[2], deliveries[1]])
    #expect(try await store.delivery(deliveries[2].id) == deliveries[2])
    #expect(try await store.delivery(Self.id(9)) == nil)
    await store.close()
  }

  func sessionsAndRepliesAreReadAsWritten(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForRequest = 1.5
    configuration.httpAdditionalHeaders.append("X", "y")
    configuration.maximumBytesPerSecond = 1000
    var delegate = SessionDelegate()
    delegate.webhook = Webhook(url: "http://a", secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    delegate.events = [.taskDidComplete, .taskDidCreate]
    let session = TransferSession(
      id: Self.id(9), createdAt: Self.time, description: "d", configuration: configuration, delegate: delegate
    )
    let reply = IdempotentReply(
      key: IdempotencyKey(tenant: .default, text: "k"), digest: [1], status: 201, contentType: "a/b",
      location: "/x", body: [0, 1], createdAt: Self.time)
    var change = LedgerChange()
    change.sessions = [session]
    change.lastIdentifiers = [session.id: 41]
    change.replaceReply(reply, about: nil)
    try await store.write(change)
    let stored = try await store.sessions()
    #expect(stored.map(\.session) == [session] && stored.first?.lastIdentifier == 41)
    #expect(try await store.session(session.id) == session)
    #expect(try await store.session(Self.id(8)) == nil)
    #expect(try await store.reply(under: reply.key) == reply)
    for key in [
      IdempotencyKey(tenant: .default, text: "other"), IdempotencyKey(tenant: Tenant(name: "t"), text: "k"),
    ] {
      #expect(try await store.reply(under: key) == nil)
    }
    await store.close()
  }

  private static func background(_ number: UInt64, owes: Bool = false) -> TransferSession {
    var session = TransferSession(
      id: id(number), type: .background, createdAt: time, description: nil, configuration: .init(),
      delegate: nil, identifier: "a \"b\"", tenant: Tenant(name: "t"))
    session.owesFinishedEvents = owes
    return session
  }

  func backgroundSessionIsReadAsLastWritten(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    for owes in [false, true, false] {
      var change = LedgerChange()
      change.sessions = [Self.background(9, owes: owes)]
      try await store.write(change)
      #expect(try await store.sessions().map(\.session) == [Self.background(9, owes: owes)])
    }
    await store.close()
  }

  func pendingBackgroundDeliveriesAreListed(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    func delivery(_ number: UInt64, _ session: SessionID, _ state: WebhookDelivery.State) -> WebhookDelivery {
      var delivery = WebhookDelivery.sample(
        id: Self.id(number), sessionID: session, type: .sessionHandleEvents, createdAt: Self.time)
      delivery.state = state
      return delivery
    }
    let other = TransferSession(
      id: Self.id(5), createdAt: Self.time, description: nil, configuration: .init(), delegate: nil)
    let session = Self.background(9)
    var change = LedgerChange()
    change.sessions = [session, other]
    change.newDeliveries = [
      delivery(1, session.id, .pending), delivery(2, session.id, .delivered), delivery(3, other.id, .pending),
      delivery(4, session.id, .failed),
    ]
    try await store.write(change)
    let found = try await store.pendingBackgroundDeliveries()
    #expect(found.map(\.id) == [Self.id(1)] && found.map(\.sessionID) == [session.id])
    #expect(found.map(\.type) == [.sessionHandleEvents])
    await store.close()
  }

  func deletedSessionLosesTasksAndEvents(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    let session: SessionID = Self.id(5)
    try await create(store, [Self.task(1, in: session), Self.task(2)])
    var change = LedgerChange()
    change.deletedSession = session
    try await store.write(change)
    #expect(try await store.task(Self.id(1)) == nil)
    #expect(try await store.task(Self.id(2)) != nil)
    #expect(try await store.journal(.session(session), after: 0, maximumBytes: 1 << 20).fragments == [])
    let kept = try await store.journal(.session(.shared), after: 0, maximumBytes: 1 << 20)
    #expect(kept.fragments.count == 1)
    await store.close()
  }
}
