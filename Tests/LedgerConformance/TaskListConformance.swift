import Ledger
import Records
import Testing
import TransferModel

/// The contract for lists of tasks, and for their deletion.
struct TaskListConformance {
  static let cases: [ConformanceCase] = [
    .init("listsFilterByEachMember") { try await Self().listsFilterByEachMember($0) },
    .init("listsHaveTwoOrders") { try await Self().listsHaveTwoOrders($0) },
    .init("tenantsListTheirOwnTasks") { try await Self().tenantsListTheirOwnTasks($0) },
    .init("deletedTaskLeavesOnlyItsDeliveries") { try await Self().deletedTaskLeavesOnlyItsDeliveries($0) },
    .init("configurationsHaveThreeOrders") { try await Self().configurationsHaveThreeOrders($0) },
  ]

  private static let time = LedgerBench.time
  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { LedgerBench.id(number) }
  private static let tenant = Tenant(name: "t")
  private static let (a, b) = (TaskLabel(key: "a", value: "1"), TaskLabel(key: "b", value: "2"))

  private static func session(_ number: UInt64, of tenant: Tenant = tenant) -> TransferSession {
    TransferSession(
      id: id(number), createdAt: time, description: nil, configuration: SessionConfiguration(), delegate: nil,
      tenant: tenant)
  }

  private static func task(
    _ number: UInt64, in session: UInt64 = 1, _ kind: TaskKind = .data, group: String? = nil,
    _ labels: [TaskLabel] = []
  ) -> TransferTask {
    var specification = TaskSpecification(kind: kind, request: TransferRequest(url: "http://a/"))
    (specification.preferences.group, specification.preferences.labels) = (group, labels)
    return TransferTask(
      id: ID(at: time.adding(seconds: Double(number)), random: (0, number)), sessionID: id(session),
      taskIdentifier: Int(number), createdAt: time.adding(seconds: Double(number)),
      specification: specification)
  }

  private static func ended(_ task: TransferTask, _ error: TransferError? = nil) -> TransferTask {
    var ended = task
    _ = ended.lifecycle.complete()
    (ended.error, ended.completedAt) = (error, time)
    return ended
  }

  /// The tasks of the tests: of two sessions of a tenant, and of one session of another tenant.
  private static func fill(_ store: any Ledger) async throws {
    let tasks = [
      task(1), task(2, in: 2, .download, group: "g", [a, b]), task(3, group: "g", [a]), task(4),
      task(5, in: 2, group: "h"), task(6, in: 3, group: "g", [a]), task(7), task(8),
    ]
    try await store.write { change in
      change.sessions = [session(1), session(2), session(3, of: .default)]
      change.createdTasks = tasks
    }
    var touched = tasks[7]
    _ = touched.lifecycle.suspend()
    try await store.write { change in
      change.updatedTasks = [
        ended(tasks[2]), ended(tasks[3], TransferError(.timedOut, "")),
        ended(tasks[6], TransferError(.cancelled, "")), touched,
      ]
    }
  }

  private static func found(
    _ store: any Ledger, _ scope: TaskQuery.Scope = .tenant(tenant), of owner: Tenant = tenant,
    after: UInt64? = nil, order: ListOrder = .oldest, limit: Int = 99,
    _ change: (inout TaskFilter) -> Void = { _ in }
  ) async throws -> [Int] {
    var filter = TaskFilter()
    change(&filter)
    let query = TaskQuery(
      scope, of: owner, filter, after: after.map { task($0).id }, order: order, limit: limit)
    return try await store.tasks(query).map(\.taskIdentifier)
  }

  func listsFilterByEachMember(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await Self.fill(store)
    for scope in [TaskQuery.Scope.tenant(Self.tenant), .session(Self.id(1))] {
      // A session's list has those of the tenant's tasks that belong to the session.
      func expect(_ numbers: [Int], _ change: (inout TaskFilter) -> Void) async throws {
        let wanted = scope == .session(Self.id(1)) ? numbers.filter { ![2, 5].contains($0) } : numbers
        for (order, wanted) in [(ListOrder.oldest, wanted), (.newest, wanted.reversed())] {
          #expect(try await Self.found(store, scope, order: order, change) == wanted)
        }
      }
      try await expect([1, 2, 3, 4, 5, 7, 8]) { _ in }
      try await expect([2]) { $0.kind = .download }
      try await expect([1, 2, 5, 8]) { $0.state = .suspended }
      try await expect([3, 4, 7]) { $0.state = .completed }
      try await expect([3]) { $0.outcome = .succeeded }
      try await expect([4]) { $0.outcome = .failed }
      try await expect([7]) { $0.outcome = .cancelled }
      try await expect([2, 3]) { $0.group = "g" }
      try await expect([3]) { ($0.group, $0.state) = ("g", .completed) }
      try await expect([]) { $0.group = "G" }
      try await expect([2, 3]) { $0.labels = [Self.a] }
      try await expect([2]) { $0.labels = [Self.b] }
      try await expect([2]) { ($0.labels, $0.kind) = ([Self.a], .download) }
      try await expect([]) { ($0.labels, $0.group) = ([Self.a], "h") }
      try await expect([1, 2, 5]) { $0.isNeverResumed = true }
      try await expect([5, 7, 8]) { $0.since = Self.time.adding(seconds: 5) }
      try await expect([4]) { $0.id = ShortTaskID("\(Self.task(4).id)") }
      try await expect([4]) { $0.id = ShortTaskID(String("\(Self.task(4).id)".suffix(8))) }
      try await expect([1, 2, 3, 4, 5, 7, 8]) { $0.id = ShortTaskID(String("\(Self.task(1).id)".prefix(9))) }
    }
    await store.close()
  }

  func listsHaveTwoOrders(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await Self.fill(store)
    #expect(try await Self.found(store, after: 2, limit: 2) == [3, 4])
    #expect(try await Self.found(store, after: 5, order: .newest, limit: 3) == [4, 3, 2])
    #expect(try await Self.found(store, after: 3, order: .newest) { $0.group = "g" } == [2])
    let decisions = (1...3).map { number in
      Decision(
        id: Self.id(number), type: .taskDidReceiveChallenge, sessionID: Self.id(1), taskID: Self.task(1).id,
        createdAt: Self.time, expiresAt: Self.time, defaultAnswer: "x", arguments: [])
    }
    let files = (1...3).map { number in
      StoredFile(
        id: Self.id(number), tenant: Self.tenant, createdAt: Self.time, size: 1, sha256: "ab",
        contentType: nil, fromTask: nil)
    }
    try await store.write { change in
      change.newDecisions = decisions
      change.owner = Self.id(1)
    }
    try await store.write { $0.newFiles = files }
    #expect(
      try await store.decisions(
        of: Self.id(1), state: nil, after: decisions[2].id, order: .newest, limit: 1
      ).map(\.id) == [decisions[1].id])
    #expect(
      try await store.files(of: Self.tenant, after: nil, order: .newest, limit: 2).map(\.id)
        == [files[2].id, files[1].id])
    await store.close()
  }

  func tenantsListTheirOwnTasks(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await Self.fill(store)
    let other = Tenant.default
    #expect(try await Self.found(store, .tenant(other), of: other) == [6])
    #expect(try await Self.found(store, .tenant(other), of: other) { $0.group = "g" } == [6])
    #expect(try await Self.found(store, .tenant(other), of: other) { $0.labels = [Self.a] } == [6])
    await store.close()
  }

  func deletedTaskLeavesOnlyItsDeliveries(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await Self.fill(store)
    let (gone, unfinished) = (Self.task(3).id, Self.task(2, in: 2).id)
    let delivery = WebhookDelivery(
      id: Self.id(1), tenant: Self.tenant, sessionID: Self.id(1), taskID: gone, type: .taskDidComplete,
      destination: Self.id(1), webhook: Webhook(url: "http://a/", secret: nil), payload: [1],
      createdAt: Self.time)
    let decision = Decision(
      id: Self.id(2), type: .taskDidReceiveChallenge, sessionID: Self.id(1), taskID: gone,
      createdAt: Self.time, expiresAt: Self.time, defaultAnswer: "x", arguments: [])
    try await store.write { change in
      change.owner = Self.id(1)
      change.newDeliveries = [delivery]
      change.newDecisions = [decision]
      change.events = [
        TransferEvent(.taskIsWaitingForConnectivity, at: Self.time, session: Self.id(1), task: gone, .none)
      ]
    }
    let last = store.lastSequence
    try await store.write { change in
      change.owner = Self.id(1)
      change.deletedTasks = [gone]
    }
    try await store.write { change in
      change.owner = Self.id(2)
      change.deletedTasks = [unfinished]
    }
    #expect(try await store.task(gone) == nil)
    #expect(try await store.task(unfinished) != nil, "a task that has not ended stays")
    #expect(try await store.decision(decision.id) == nil)
    #expect(try await store.journal(.task(gone), after: 0, maximumBytes: 1 << 20).fragments.isEmpty)
    #expect(try await store.hasPendingDelivery(gone))
    #expect(try await Self.found(store) { $0.labels = [Self.a] } == [2])
    // The numbers of deleted events are not assigned again.
    try await store.write { change in
      change.owner = Self.id(1)
      change.events = [TransferEvent(.sessionDidBecomeInvalid, at: Self.time, session: Self.id(1), .none)]
    }
    #expect(store.lastSequence > last)
    await store.close()
  }

  func configurationsHaveThreeOrders(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    try await store.write { change in
      change.configurations = [("b", 1), ("a", 2), ("c", 2)].map { name, second in
        NamedConfiguration(
          name: LedgerBench.name(name), configuration: SessionConfiguration(),
          createdAt: Self.time.adding(seconds: second), updatedAt: Self.time)
      }
    }
    func names(_ order: ListOrder?, after: (String, Double)? = nil) async throws -> [String] {
      let place = after.map { ConfigurationCursor(name: $0.0, createdAt: Self.time.adding(seconds: $0.1)) }
      return try await store.configurations(of: .default, after: place, order: order, limit: 9)
        .map(\.name.text)
    }
    #expect(try await names(nil) == ["a", "b", "c"])
    #expect(try await names(.oldest) == ["b", "a", "c"])
    #expect(try await names(.newest) == ["c", "a", "b"])
    #expect(try await names(.oldest, after: ("a", 2)) == ["c"])
    #expect(try await names(.newest, after: ("a", 2)) == ["b"])
    await store.close()
  }
}
