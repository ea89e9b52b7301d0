import HTTPFields
import Ledger
import Testing
import TransferModel

/// The contract for finding and pruning expired records.
struct RetentionConformance {
  static let cases: [ConformanceCase] = [
    .init("onlyFinishedTasksAreListedInOrder") {
      try await Self().onlyFinishedTasksAreListedInOrder($0)
    },
    .init("pendingWakeUpMessageKeepsTasksOfItsSession") {
      try await Self().pendingWakeUpMessageKeepsTasksOfItsSession($0)
    },
    .init("pendingDeliveryKeepsItsTask") {
      try await Self().pendingDeliveryKeepsItsTask($0)
    },
    .init("taskStaysAfterItsBodyIsPruned") { try await Self().taskStaysAfterItsBodyIsPruned($0) },
    .init("resumeDataExpiresLikeABody") {
      try await Self().resumeDataExpiresLikeABody($0)
    },
    .init("eventNumbersAreNotReusedAfterPruningTheJournal") {
      try await Self().eventNumbersAreNotReusedAfterPruningTheJournal($0)
    },
    .init("pruningReportsAGapPerTenant") { try await Self().pruningReportsAGapPerTenant($0) },
    .init("oldDecisionsAndRepliesArePruned") { try await Self().oldDecisionsAndRepliesArePruned($0) },
    .init("groupsWithoutTasksArePruned") { try await Self().groupsWithoutTasksArePruned($0) },
  ]

  private static let time = Timestamp(seconds: 1_800_000_000)
  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }

  private static func task(_ number: UInt64, in session: SessionID = .shared) -> TransferTask {
    TransferTask(
      id: id(number), sessionID: session, taskIdentifier: Int(number), createdAt: time,
      specification: TaskSpecification(kind: .download, request: TransferRequest(url: "http://a/\(number)")))
  }

  /// Returns a task that ended at this second, with a body that is kept for a minute.
  private static func finished(
    _ number: UInt64, at second: Double, bytes: Int64? = nil, in session: SessionID = .shared
  ) -> TransferTask {
    var task = task(number, in: session)
    _ = task.lifecycle.resume()
    _ = task.lifecycle.complete()
    let end = time.adding(seconds: second)
    task.completedAt = end
    task.body = bytes.map { TaskBody(size: $0, sha256: "ab", expiresAt: end.adding(seconds: 60)) }
    return task
  }

  private static func delivery(_ number: UInt64, of task: TransferTask?) -> WebhookDelivery {
    WebhookDelivery.sample(
      id: id(number), sessionID: .shared, taskID: task?.id, type: .taskDidComplete,
      webhook: Webhook(url: "http://a", secret: nil), payload: [123, 125], createdAt: time)
  }

  private static func event(_ task: TransferTask, _ second: Double) -> TransferEvent {
    TransferEvent(
      .taskDidChangeState, at: time.adding(seconds: second), session: task.sessionID, task: task.id,
      .stateChanged(.running, nil))
  }

  private func write(_ store: any Ledger, _ fill: (inout LedgerChange) -> Void) async throws {
    var change = LedgerChange()
    fill(&change)
    try await store.write(change)
  }

  private func prune(_ store: any Ledger, _ fill: (inout Pruning) -> Void) async throws {
    var pruning = Pruning()
    fill(&pruning)
    try await write(store) { $0.pruning = pruning }
  }

  private func add(_ tasks: [TransferTask], to store: any Ledger) async throws {
    try await write(store) { change in
      change.createdTasks = tasks
      change.updatedTasks = tasks
    }
  }

  private func numbers(_ store: any Ledger, _ query: FinishedTaskQuery, limit: Int = 10) async throws
    -> [TaskID]
  {
    try await store.finishedTasks(query, limit: limit).map(\.id)
  }

  private static func ids(_ numbers: UInt64...) -> [TaskID] { numbers.map { id($0) } }

  func onlyFinishedTasksAreListedInOrder(
    _ kind: LedgerKind
  ) async throws {
    let store = try LedgerBench(kind).open()
    try await add(
      [
        Self.finished(1, at: 30, bytes: 5), Self.finished(2, at: 10), Self.finished(3, at: 20, bytes: 7),
        Self.task(4),
      ], to: store)
    let late = Self.time.adding(seconds: 1000)
    #expect(try await numbers(store, .ended(by: late)) == Self.ids(2, 3, 1))
    #expect(try await numbers(store, .ended(by: late), limit: 2) == Self.ids(2, 3))
    #expect(try await numbers(store, .ended(by: Self.time.adding(seconds: 20))) == Self.ids(2, 3))
    #expect(try await numbers(store, .expired(by: late)) == Self.ids(3, 1))
    #expect(try await numbers(store, .expired(by: Self.time.adding(seconds: 80))) == Self.ids(3))
    #expect(try await numbers(store, .keeping) == Self.ids(3, 1))
    #expect(try await store.keptBytes() == 12)
    // Pruning checks the row as well: an unfinished task is never deleted.
    try await prune(store) { $0.tasks = Self.ids(2, 4) }
    #expect(try await store.task(Self.id(2)) == nil)
    #expect(try await store.task(Self.id(4)) == Self.task(4))
    await store.close()
  }

  /// The tasks of a background session stay while its wake-up message is pending, so that the client finds them.
  func pendingWakeUpMessageKeepsTasksOfItsSession(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    let task = Self.finished(1, at: 0, bytes: 5)
    try await add([task], to: store)
    var wakeUp = WebhookDelivery.sample(
      id: DeliveryID(high: 7, low: 1), sessionID: task.sessionID, taskID: nil, type: .sessionHandleEvents,
      webhook: Webhook(url: "http://a/", secret: nil), payload: [], createdAt: Self.time)
    try await write(store) { [wakeUp] in $0.newDeliveries = [wakeUp] }
    let late = Self.time.adding(seconds: 1000)
    let queries: [FinishedTaskQuery] = [.ended(by: late), .expired(by: late), .keeping]
    for query in queries { #expect(try await numbers(store, query) == []) }
    (wakeUp.state, wakeUp.finishedAt) = (.failed, late)
    try await write(store) { [wakeUp] in $0.updatedDeliveries = [wakeUp] }
    for query in queries { #expect(try await numbers(store, query) == [task.id]) }
    await store.close()
  }

  func pendingDeliveryKeepsItsTask(
    _ kind: LedgerKind
  ) async throws {
    let store = try LedgerBench(kind).open()
    let task = Self.finished(1, at: 0, bytes: 5)
    try await add([task], to: store)
    var delivery = Self.delivery(1, of: task)
    try await write(store) { change in
      change.newDeliveries = [delivery]
      change.events = [Self.event(Self.task(9), 0), Self.event(task, 0)]
    }
    let late = Self.time.adding(seconds: 1000)
    let queries: [FinishedTaskQuery] = [.ended(by: late), .expired(by: late), .keeping]
    for query in queries { #expect(try await numbers(store, query) == []) }
    #expect(try await store.keptBytes() == 5)
    #expect(try await store.oldestEvents(limit: 9).map(\.isHeld) == [false, true])
    try await prune(store) { $0.records.deliveries = [delivery.id] }
    #expect(try await store.dueSamples(at: late) == [delivery])
    // After a clock was set back, an unsent delivery is due at once.
    #expect(
      try await store.dueSamples(at: Timestamp(microseconds: 1), includingFutureAttempts: true) == [delivery])
    delivery.state = .delivered
    delivery.finishedAt = Self.time.adding(seconds: 50)
    try await write(store) { $0.updatedDeliveries = [delivery] }
    for query in queries { #expect(try await numbers(store, query) == [task.id]) }
    #expect(try await store.oldestEvents(limit: 9).map(\.isHeld) == [false, false])
    func stale(_ second: Double) async throws -> [DeliveryID] {
      let time = Self.time.adding(seconds: second)
      return try await store.staleRecords(
        .init(deliveries: time, decisions: Self.time, replies: Self.time, groups: Self.time), limit: 9
      ).deliveries
    }
    #expect(try await stale(49) == [])
    #expect(try await stale(50) == [delivery.id])
    try await prune(store) { $0.records.deliveries = [delivery.id] }
    #expect(try await stale(50) == [])
    await store.close()
  }

  func taskStaysAfterItsBodyIsPruned(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    var task = Self.finished(1, at: 0, bytes: 2)
    task.response = TransferResponse(
      url: "http://a", status: 200, headers: HTTPHeaders(), expectedContentLength: 2, httpVersion: "HTTP/1.1")
    try await write(store) { change in
      change.createdTasks = [task]
      change.updatedTasks = [task]
      change.smallBodies[task.id] = [1, 2]
    }
    try await prune(store) { $0.bodies = [task.id] }
    task.body = nil
    #expect(try await store.task(task.id) == task)
    #expect(try await store.smallBody(of: task.id) == nil)
    #expect(try await store.hasBodyFile(task.id) == false)
    #expect(try await store.keptBytes() == 0)
    #expect(try await numbers(store, .expired(by: Self.time.adding(seconds: 1000))) == [])
    await store.close()
  }

  func resumeDataExpiresLikeABody(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    var task = Self.finished(1, at: 0)
    task.error = TransferError(.cancelled, "no", failingURL: "http://a")
    task.error?.resumeDataAvailable = true
    task.partial = ResumePoint(
      partial: PartialBody(offset: 77, total: 99, validator: "\"v\""), source: task.id)
    task.partialExpiresAt = Self.time.adding(seconds: 60)
    try await add([task], to: store)
    #expect(try await store.task(task.id) == task)
    #expect(try await store.keptBytes() == 77)
    #expect(try await numbers(store, .expired(by: Self.time.adding(seconds: 60))) == [task.id])
    try await prune(store) { $0.bodies = [task.id] }
    task.partial = nil
    task.partialExpiresAt = nil
    task.error?.resumeDataAvailable = false
    #expect(try await store.task(task.id) == task)
    await store.close()
  }

  func eventNumbersAreNotReusedAfterPruningTheJournal(
    _ kind: LedgerKind
  ) async throws {
    let bench = LedgerBench(kind)
    let mark = PrunedEvents(through: 3, time: Self.time)
    do {
      let store = try bench.open()
      try await write(store) { $0.events = (1...3).map { Self.event(Self.task($0), Double($0)) } }
      #expect(
        try await store.oldestEvents(limit: 2)
          == (1...2).map { .init(last: $0, time: Self.time.adding(seconds: Double($0)), isHeld: false) })
      try await prune(store) { $0.events = mark }
      let page = try await store.journal(.session(.shared), after: 0, maximumBytes: 1 << 20)
      #expect(page.fragments == [] && page.pruned == mark && page.oldest == 4 && page.coveredSequence == 3)
      await store.close()
    }
    let store = try bench.open()
    #expect(store.lastSequence == 3)
    try await write(store) { $0.events = [Self.event(Self.task(4), 4)] }
    let page = try await store.journal(.session(.shared), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments.map(\.first) == [4] && page.oldest == 4 && page.pruned == mark)
    await store.close()
  }

  /// A gap is reported only if events of the reader's own tenant were pruned.
  func pruningReportsAGapPerTenant(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let (other, tenant): (SessionID, Tenant) = (Self.id(5), Tenant(name: "t"))
    let task = Self.task(9, in: other)
    try await write(store) { change in
      change.sessions = [
        .shared(.shared, of: .default),
        TransferSession(
          id: other, createdAt: Self.time, description: nil, configuration: .init(), delegate: nil,
          tenant: tenant),
      ]
    }
    // 1, 2 and 4 belong to the default tenant, 3 to the other.
    try await write(store) { $0.events = [Self.event(Self.task(1), 1), Self.event(Self.task(2), 2)] }
    try await write(store) { $0.events = [Self.event(task, 3)] }
    try await write(store) { $0.events = [Self.event(Self.task(4), 4)] }
    func gap(_ tenant: Tenant) async throws -> [Int64] {
      let page = try await store.journal(.tenant(tenant), after: 0, maximumBytes: 1 << 20)
      return [page.pruned.through, page.oldest]
    }
    #expect(try await gap(.default) == [0, 1])
    try await prune(store) { $0.events = PrunedEvents(through: 2, time: Self.time) }
    #expect(try await gap(.default) == [2, 4])
    #expect(try await gap(tenant) == [0, 3])
    try await prune(store) { $0.events = PrunedEvents(through: 3, time: Self.time) }
    #expect(try await gap(.default) == [2, 4])
    #expect(try await gap(tenant) == [3, 5])
    await store.close()
  }

  private static let key = IdempotencyKey(tenant: Tenant(name: "t"), text: "k")

  func oldDecisionsAndRepliesArePruned(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    func decision(_ number: UInt64, _ second: Double, _ state: Decision.State) -> Decision {
      let created = Self.time.adding(seconds: second)
      var decision = Decision(
        id: DecisionID(at: created, random: (number, number)), type: .taskWillPerformHTTPRedirection,
        sessionID: .shared, taskID: Self.id(1), createdAt: created, expiresAt: created, defaultAnswer: "x",
        arguments: Array("{}".utf8))
      decision.state = state
      return decision
    }
    let decisions = [decision(1, 0, .answered), decision(2, 0, .pending), decision(3, 10, .answered)]
    func reply(_ second: Double) -> IdempotentReply {
      IdempotentReply(
        key: Self.key, digest: [1], status: 201, contentType: "a/b", location: nil, body: [],
        createdAt: Self.time.adding(seconds: second))
    }
    try await write(store) { change in
      change.newDecisions = decisions
      change.settledDecisions = decisions.map { SettledDecision($0) }
      change.replaceReply(reply(0), about: nil)
    }
    let ages = ExpiredRecords.Cutoffs(
      deliveries: Self.time, decisions: Self.time.adding(seconds: 5), replies: Self.time, groups: Self.time)
    let stale = try await store.staleRecords(ages, limit: 9)
    #expect(stale.decisions == [decisions[0].id] && stale.replies.map(\.key) == [Self.key])
    // Another request uses the key before the old reply is pruned.
    try await write(store) { $0.replaceReply(reply(1), about: nil) }
    try await prune(store) { $0.records = stale }
    #expect(try await store.reply(under: Self.key) == reply(1))
    #expect(try await store.decision(decisions[0].id) == nil)
    #expect(try await store.decision(decisions[2].id) == decisions[2])
    #expect(try await store.staleRecords(ages, limit: 9).count == 0)
    await store.close()
  }

  func groupsWithoutTasksArePruned(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let session = TransferSession(
      id: Self.id(90), createdAt: Self.time, description: nil, configuration: SessionConfiguration(),
      delegate: nil)
    func key(_ name: String) -> TaskGroupKey { TaskGroupKey(tenant: .default, name: name) }
    func member(_ number: UInt64, of name: String) -> TransferTask {
      var specification = TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/"))
      specification.preferences.group = name
      return TransferTask(
        id: Self.id(number), sessionID: session.id, taskIdentifier: Int(number), createdAt: Self.time,
        specification: specification)
    }
    let names = ["open", "closed", "completed", "late", "used"]
    let tasks = names.enumerated().map { member(UInt64($0.offset + 1), of: $0.element) }
    let completed = [("completed", 0.0), ("late", 50)].map { name, second in
      var group = TaskGroup(key(name), createdAt: Self.time)
      group.completedAt = Self.time.adding(seconds: second)
      group.finalCounts = GroupCounts()
      return group
    }
    try await write(store) { change in
      change.sessions = [session]
      change.createdTasks = tasks
      change.closedGroups = ["closed", "completed", "late"].map { (key($0), Self.time) }
    }
    try await write(store) { change in
      change.updatedTasks = tasks.map { task in
        var ended = task
        _ = ended.lifecycle.complete()
        ended.completedAt = Self.time
        return ended
      }
      change.completedGroups = completed
    }
    let ages = ExpiredRecords.Cutoffs(
      deliveries: Self.time, decisions: Self.time, replies: Self.time,
      groups: Self.time.adding(seconds: 10))
    #expect(try await store.staleRecords(ages, limit: 9).groups.isEmpty, "all groups have tasks")
    try await prune(store) { $0.tasks = tasks.dropLast().map(\.id) }
    let stale = try await store.staleRecords(ages, limit: 9)
    #expect(Set(stale.groups) == [key("open"), key("completed")])
    // A task joins one of the groups before they are pruned.
    try await write(store) { $0.createdTasks = [member(9, of: "open")] }
    try await prune(store) { $0.records = stale }
    var left: [String] = []
    for name in names where try await store.group(key(name)) != nil { left.append(name) }
    #expect(left == ["open", "closed", "late", "used"])
    #expect(try await store.staleRecords(ages, limit: 9).count == 0)
    await store.close()
  }
}
