import Ledger
import Records
import Testing
import TransferModel

/// The contract for groups of tasks.
struct GroupConformance {
  static let cases: [ConformanceCase] = [
    .init("firstTaskCreatesItsGroup") { try await Self().firstTaskCreatesItsGroup($0) },
    .init("tasksOfATenantAreCounted") { try await Self().tasksOfATenantAreCounted($0) },
    .init("closedGroupRefusesTasks") { try await Self().closedGroupRefusesTasks($0) },
    .init("groupCompletesOnceWithItsCounts") { try await Self().groupCompletesOnceWithItsCounts($0) },
    .init("groupsHaveTwoOrders") { try await Self().groupsHaveTwoOrders($0) },
    .init("unfinishedTasksOfAGroupAreFound") { try await Self().unfinishedTasksOfAGroupAreFound($0) },
    .init("replacedTaskDoesNotCount") { try await Self().replacedTaskDoesNotCount($0) },
    .init("namesAreComparedByBytes") { try await Self().namesAreComparedByBytes($0) },
    .init("eventsKeepTheirGroupAndLabels") { try await Self().eventsKeepTheirGroupAndLabels($0) },
  ]

  private static let time = LedgerBench.time
  private static let tenant = Tenant(name: "t")
  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { LedgerBench.id(number) }
  private static func key(_ name: String, of tenant: Tenant = tenant) -> TaskGroupKey {
    TaskGroupKey(tenant: tenant, name: name)
  }

  private static func task(_ number: UInt64, _ group: String?, in session: UInt64 = 1) -> TransferTask {
    var specification = TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/"))
    specification.preferences.group = group
    return TransferTask(
      id: id(number), sessionID: id(session), taskIdentifier: Int(number),
      createdAt: time.adding(seconds: Double(number)), specification: specification)
  }

  private static func ended(_ task: TransferTask, _ error: TransferError? = nil) -> TransferTask {
    var ended = task
    _ = ended.lifecycle.complete()
    (ended.error, ended.completedAt) = (error, time)
    (ended.progress.countOfBytesReceived, ended.progress.countOfBytesSent) = (10, 3)
    return ended
  }

  private static func open(_ kind: LedgerKind) async throws -> any Ledger {
    let store = try LedgerBench(kind).open()
    try await store.write { change in
      change.sessions = [(1, tenant), (2, tenant), (3, .default)].map { number, tenant in
        TransferSession(
          id: id(number), createdAt: time, description: nil, configuration: SessionConfiguration(),
          delegate: nil, tenant: tenant)
      }
      change.createdTasks = [
        task(1, "g"), task(2, "g", in: 2), task(3, nil), task(4, "h"), task(5, "g", in: 3), task(6, "g"),
      ]
    }
    return store
  }

  func firstTaskCreatesItsGroup(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    let group = try #require(try await store.group(Self.key("g")))
    #expect(group == TaskGroup(Self.key("g"), createdAt: Self.task(1, "g").createdAt))
    #expect(try await store.group(Self.key("i")) == nil)
    #expect(try await store.counts(of: Self.key("g")).suspended == 3)
    #expect(try await store.counts(of: Self.key("g", of: .default)).suspended == 1)
    #expect(try await store.sessions(of: Self.key("g")) == [Self.id(1), Self.id(2)])
    #expect(try await store.sessions(of: Self.key("h")) == [Self.id(1)])
    #expect(try await store.sessions(of: Self.key("i")).isEmpty)
    #expect(try await store.closedGroups().isEmpty)
    try await store.write { change in
      change.updatedTasks = [
        Self.ended(Self.task(1, "g")),
        Self.ended(Self.task(6, "g"), TransferError(.cancelled, "")),
      ]
    }
    let counts = try await store.counts(of: Self.key("g"))
    #expect((counts.suspended, counts.succeeded, counts.cancelled, counts.failed) == (1, 1, 1, 0))
    #expect((counts.countOfBytesReceived, counts.countOfBytesSent) == (20, 6))
    await store.close()
  }

  /// Counts include tasks without a group, and those of all sessions of the tenant.
  func tasksOfATenantAreCounted(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    #expect(try await store.counts(ofTenant: Self.tenant).suspended == 5)
    var running = Self.task(3, nil)
    _ = running.lifecycle.resume()
    try await store.write { change in
      change.updatedTasks = [
        running, Self.ended(Self.task(1, "g")), Self.ended(Self.task(6, "g"), TransferError(.cancelled, "")),
        Self.ended(Self.task(4, "h"), TransferError(.timedOut, "")),
      ]
    }
    let counts = try await store.counts(ofTenant: Self.tenant)
    #expect((counts.suspended, counts.running, counts.canceling) == (1, 1, 0))
    #expect((counts.succeeded, counts.failed, counts.cancelled) == (1, 1, 1))
    #expect(try await store.counts(ofTenant: .default).tasks == 1)
    #expect(try await store.counts(ofTenant: Tenant(name: "unknown")) == GroupCounts())
    await store.close()
  }

  func closedGroupRefusesTasks(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    func create(_ number: UInt64, _ group: String) async throws {
      try await store.write { change in
        change.conditions = [.groupOpen(Self.key(group))]
        change.createdTasks = [Self.task(number, group)]
      }
    }
    try await create(10, "g")
    try await store.write { $0.closedGroups = [(Self.key("g"), Self.time)] }
    try await store.write { $0.closedGroups = [(Self.key("g"), Self.time.adding(seconds: 9))] }
    #expect(try await store.group(Self.key("g"))?.closedAt == Self.time, "the first time stays")
    #expect(try await LedgerBench.isUnmet { try await create(11, "g") })
    #expect(try await store.task(Self.id(11)) == nil)
    try await create(12, "new")
    #expect(try await store.closedGroups().map(\.key) == [Self.key("g")])
    #expect(try await store.group(Self.key("g", of: .default))?.state == .open)
    await store.close()
  }

  func groupCompletesOnceWithItsCounts(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    let key = Self.key("h")
    func complete(_ counts: GroupCounts) async throws {
      guard var group = try await store.group(key) else { return }
      (group.completedAt, group.finalCounts) = (Self.time, counts)
      let completed = group
      try await store.write { change in
        change.conditions = [.groupEnded(key, counts)]
        change.completedGroups = [completed]
        change.events = [completed.completionEvent].compactMap { $0 }
      }
    }
    let before = try await store.counts(of: key)
    #expect(try await LedgerBench.isUnmet { try await complete(before) }, "the group is open")
    try await store.write { $0.closedGroups = [(key, Self.time)] }
    #expect(try await LedgerBench.isUnmet { try await complete(before) }, "a task has not ended")
    try await store.write { $0.updatedTasks = [Self.ended(Self.task(4, "h"), TransferError(.timedOut, ""))] }
    #expect(try await LedgerBench.isUnmet { try await complete(GroupCounts()) }, "the counts are wrong")
    let counts = try await store.counts(of: key)
    try await complete(counts)
    #expect(try await LedgerBench.isUnmet { try await complete(counts) }, "the group is completed")
    let group = try #require(try await store.group(key))
    #expect(group.state == .completed && group.finalCounts == counts && counts.failed == 1)
    #expect(try await store.closedGroups().isEmpty)
    let page = try await store.journal(.tenant(Self.tenant), after: 0, maximumBytes: 1 << 20)
    let types = page.fragments.flatMap { ServerSentEvents.split($0.bytes) }.map {
      ServerSentEvents.type(of: $0)
    }
    #expect(types == [.groupDidComplete])
    let others = try await store.journal(.tenant(.default), after: 0, maximumBytes: 1 << 20)
    #expect(others.fragments.isEmpty, "the event belongs to the group's tenant")
    await store.close()
  }

  func unfinishedTasksOfAGroupAreFound(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    let keys = ["g", "h", "none"].map { Self.key($0) }
    func unfinished() async throws -> [Bool] {
      var found: [Bool] = []
      for key in keys { found.append(try await store.hasUnfinishedTasks(key)) }
      return found
    }
    #expect(try await unfinished() == [true, true, false])
    #expect(try await store.closedGroups(among: Set(keys)).isEmpty)
    try await store.write { change in
      change.updatedTasks = [1, 6, 4].map { Self.ended(Self.task($0, $0 == 4 ? "h" : "g")) }
      change.closedGroups = [(keys[0], Self.time)]
    }
    #expect(try await unfinished() == [true, false, false], "a task of another session has not ended")
    #expect(try await store.closedGroups(among: Set(keys)) == [keys[0]])
    try await store.write { $0.updatedTasks = [Self.ended(Self.task(2, "g", in: 2))] }
    #expect(try await unfinished() == [false, false, false])
    #expect(try await store.hasUnfinishedTasks(Self.key("g", of: .default)), "another tenant's group")
    await store.close()
  }

  func replacedTaskDoesNotCount(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    var replaced = Self.ended(Self.task(4, "h"))
    replaced.downloadTask = Self.id(30)
    try await store.write { [replaced] change in
      change.createdTasks = [Self.task(30, "h")]
      change.updatedTasks = [replaced]
    }
    let running = try await store.counts(of: Self.key("h"))
    #expect((running.tasks, running.suspended, running.countOfBytesReceived) == (1, 1, 0))
    try await store.write { $0.updatedTasks = [Self.ended(Self.task(30, "h"))] }
    let counts = try await store.counts(of: Self.key("h"))
    #expect((counts.tasks, counts.succeeded, counts.countOfBytesReceived) == (1, 1, 10))
    await store.close()
  }

  /// The names are canonically equivalent: one scalar, or a letter and a combining accent.
  func namesAreComparedByBytes(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    let (one, two) = ("\u{E9}", "e\u{301}")
    try await store.write { $0.createdTasks = [Self.task(20, one), Self.task(21, two)] }
    try await store.write { $0.closedGroups = [(Self.key(one), Self.time)] }
    #expect(try await store.group(Self.key(two))?.state == .open)
    #expect(try await store.counts(of: Self.key(two)).tasks == 1)
    #expect(try await store.closedGroups(among: [Self.key(one), Self.key(two)]) == [Self.key(one)])
    var filter = TaskFilter()
    filter.group = two
    let query = TaskQuery(.tenant(Self.tenant), of: Self.tenant, filter, limit: 9)
    #expect(try await store.tasks(query).map(\.id) == [Self.id(21)])
    await store.close()
  }

  func eventsKeepTheirGroupAndLabels(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    let tags = TaskTags(group: "g", labels: [TaskLabel(key: "a", value: "1")])
    func event(_ task: UInt64) -> TransferEvent {
      TransferEvent(
        .taskDidChangeState, at: Self.time, session: Self.id(1), task: Self.id(task),
        .stateChanged(.running, nil))
    }
    var group = TaskGroup(Self.key("h"), createdAt: Self.time)
    (group.closedAt, group.completedAt, group.finalCounts) = (Self.time, Self.time, GroupCounts())
    let end = try #require(group.completionEvent)
    try await store.write { change in
      change.events = [event(1), event(3), end]
      change.tags = [Self.id(1): tags]
    }
    let page = try await store.journal(.tenant(Self.tenant), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments.map(\.tags) == [tags, nil, TaskTags(group: "h")])
    await store.close()
  }

  func groupsHaveTwoOrders(_ kind: LedgerKind) async throws {
    let store = try await Self.open(kind)
    try await store.write { $0.createdTasks = [Self.task(20, "a")] }
    func names(_ order: ListOrder, after: TaskGroup? = nil, limit: Int = 9) async throws -> [String] {
      try await store.groups(of: Self.tenant, after: after, order: order, limit: limit).map(\.key.name)
    }
    #expect(try await names(.oldest) == ["g", "h", "a"])
    #expect(try await names(.newest) == ["a", "h", "g"])
    let middle = try await store.group(Self.key("h"))
    #expect(try await names(.oldest, after: middle) == ["a"])
    #expect(try await names(.newest, after: middle, limit: 1) == ["g"])
    await store.close()
  }
}
