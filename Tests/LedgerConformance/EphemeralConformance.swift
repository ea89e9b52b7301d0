import Ledger
import Synchronization
import Testing
import TransferModel

/// The contract for the records of ephemeral sessions in a `CompositeLedger`.
struct EphemeralConformance {
  static let cases: [ConformanceCase] = [
    .init("deletingBodiesAlsoDeletesReplies") {
      try await Self().deletingBodiesAlsoDeletesReplies($0)
    },
    .init("recordsInMemoryEndWithTheirProcess") { try await Self().recordsInMemoryEndWithTheirProcess($0) },
    .init("eventNumbersAreNotReusedAfterReopening") {
      try await Self().eventNumbersAreNotReusedAfterReopening($0)
    },
    .init("processesShareEventNumbers") {
      try await Self().processesShareEventNumbers($0)
    },
    .init("concurrentRequestsClaimAnIdempotencyKeyOnce") {
      try await Self().concurrentRequestsClaimAnIdempotencyKeyOnce($0)
    },
    .init("conditionalEphemeralTaskChangeSucceedsOnce") {
      try await SharedLedgerConformance().conditionalTaskChangeSucceedsOnce($0, in: session)
    },
    .init("memoryPruningWithoutSessionsLeavesDurableRecords") {
      try await Self().memoryPruningWithoutSessionsLeavesDurableRecords($0)
    },
    .init("memoryPruningLeavesDurableRecords") {
      try await Self().memoryPruningLeavesDurableRecords($0)
    },
    .init("journalPageMergesBothLedgers") { try await Self().journalPageMergesBothLedgers($0) },
    .init("lateChangeOfDeletedSessionIsNotDurable") {
      try await Self().lateChangeOfDeletedSessionIsNotDurable($0)
    },
    .init("fencedProcessWritesNothingInMemory") { try await Self().fencedProcessWritesNothingInMemory($0) },
    .init("processWithoutShardsWritesItsEphemeralSessions") {
      try await Self().processWithoutShardsWritesItsEphemeralSessions($0)
    },
    .init("deletedSessionLeavesNoRecords") { try await Self().deletedSessionLeavesNoRecords($0) },
    .init("dueDeliveriesAreMergedByTime") { try await Self().dueDeliveriesAreMergedByTime($0) },
  ]

  private static let time = LedgerBench.time
  private static let session = TransferSession(
    id: LedgerBench.id(5), type: .ephemeral, createdAt: time, description: nil,
    configuration: SessionConfiguration(), delegate: nil)

  private static func task(_ number: UInt64, in session: SessionID = session.id) -> TransferTask {
    TransferTask(
      id: LedgerBench.id(number), sessionID: session, taskIdentifier: Int(number), createdAt: time,
      specification: TaskSpecification(
        kind: .data, request: TransferRequest(url: "http://a/", body: .data([1, 2]))))
  }

  private static func finished(_ number: UInt64, in session: SessionID = session.id) -> TransferTask {
    var task = task(number, in: session)
    _ = task.lifecycle.resume()
    _ = task.lifecycle.complete()
    (task.completedAt, task.body) = (time, TaskBody(size: 4, sha256: "", expiresAt: time))
    return task
  }

  private static func event(of session: SessionID = session.id, task: TaskID? = nil) -> TransferEvent {
    TransferEvent(.sessionDidBecomeInvalid, at: time, session: session, task: task, .invalidated)
  }

  private static func reply(_ key: String, _ status: Int = 201) -> IdempotentReply {
    IdempotentReply(
      key: LedgerBench.key(key), digest: [1], status: status, contentType: "a/b", location: nil, body: [2],
      createdAt: time)
  }

  private static func delivery(
    _ number: UInt64, at second: Double, of session: SessionID
  ) -> WebhookDelivery {
    WebhookDelivery.sample(
      id: LedgerBench.id(number), sessionID: session, createdAt: time.adding(seconds: second))
  }

  /// Opens a ledger with the session.
  private func open(_ bench: LedgerBench) async throws -> any Ledger {
    let store = try bench.open()
    try await write(store) { $0.sessions = [Self.session] }
    return store
  }

  private func write(
    _ store: any Ledger, about session: SessionID? = session.id, _ fill: (inout LedgerChange) -> Void
  ) async throws {
    try await store.write { change in
      change.owner = session
      fill(&change)
    }
  }

  func deletingBodiesAlsoDeletesReplies(_ kind: LedgerKind) async throws {
    let store = try await open(LedgerBench(kind))
    let task = Self.finished(1)
    try await write(store) { change in
      change.createdTasks = [Self.task(1)]
      change.replaceReply(Self.reply("a"), about: Self.session.id)
    }
    try await write(store) { change in
      change.updatedTasks = [task]
      change.smallBodies = [task.id: [7]]
    }
    #expect(try await store.task(task.id) == task)
    #expect(try await store.sessions().isEmpty)
    #expect(try await store.session(Self.session.id) == Self.session)
    #expect(try await store.smallBody(of: task.id) == [7])
    #expect(try await store.reply(under: LedgerBench.key("a")) == Self.reply("a"))
    try await write(store) { $0.sessionOfDeletedBodies = Self.session.id }
    #expect(try await store.smallBody(of: task.id) == nil)
    #expect(try await store.hasBodyFile(task.id) == false)
    #expect(try await store.task(task.id)?.originalRequest.body == .data([]))
    #expect(try await store.reply(under: LedgerBench.key("a")) == nil)
    #expect(try await store.hasTasks(Self.session.id))
    await store.close()
  }

  func recordsInMemoryEndWithTheirProcess(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let store = try await open(bench)
    try await write(store) { change in
      change.createdTasks = [Self.task(1)]
      change.events = [Self.event()]
    }
    #expect(try await store.task(LedgerBench.id(1)) == Self.task(1))
    await store.close()
    let next = try bench.open()
    #expect(try await next.task(LedgerBench.id(1)) == nil)
    #expect(try await next.journal(.tenant(.default), after: 0, maximumBytes: 99).fragments == [])
    await next.close()
  }

  func eventNumbersAreNotReusedAfterReopening(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let store = try await open(bench)
    try await write(store, about: nil) { $0.sessions = [.shared(.shared, of: .default)] }
    for session in [Self.session.id, .shared, Self.session.id, .shared] {
      try await write(store, about: session) { $0.events = [Self.event(of: session)] }
    }
    let page = try await store.journal(.tenant(.default), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments.map(\.first).count == 4 && page.isLast)
    #expect(page.fragments.map(\.sessionID) == [Self.session.id, .shared, Self.session.id, .shared])
    #expect(page.coveredSequence == store.lastSequence)
    let last = store.lastSequence
    await store.close()
    let next = try bench.open()
    #expect(next.highestSequence >= last)
    try await write(next, about: .shared) { $0.events = [Self.event(of: .shared)] }
    await next.close()
    let numbers = bench.published.map(\.first)
    #expect(numbers == numbers.sorted() && Set(numbers).count == 5)
  }

  /// Events in memory need no commit while no other process writes.
  func processesShareEventNumbers(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let heard = Mutex<[[Int64]]>([[], []])
    let stores = try [0, 1].map { index in
      try bench.open { feed in
        heard.withLock { $0[index] += feed.fragments.flatMap { Array($0.first...$0.last) } }
      }
    }
    try await write(stores[0]) { $0.sessions = [Self.session] }
    for _ in 0..<20 {
      try await write(stores[0]) { $0.events = [Self.event()] }
      try await write(stores[1], about: .shared) { $0.events = [Self.event(of: .shared)] }
      for _ in 0..<2 { try await write(stores[0]) { $0.events = [Self.event()] } }
      try await write(stores[0], about: .shared) { $0.events = [Self.event(of: .shared)] }
    }
    for store in stores {
      store.publishRemoteCommits()
      await store.close()
    }
    let (own, others) = heard.withLock { ($0[0], $0[1]) }
    #expect(own.count == 100 && Set(own).count == 100 && own == own.sorted())
    #expect(others.count == 40 && others == others.sorted() && Set(others).isSubset(of: own))
  }

  func concurrentRequestsClaimAnIdempotencyKeyOnce(_ kind: LedgerKind) async throws {
    let store = try await open(LedgerBench(kind))
    let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<40 {
        group.addTask {
          try await LedgerBench.isUnmet {
            try await write(store) { change in
              change.events = [Self.event()]
              change.answer(Self.reply("k\(number % 10)", 200 + number), about: Self.session.id)
            }
          }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.count { !$0 } == 10)
    let page = try await store.journal(.session(Self.session.id), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments.count == 10)
    await store.close()
  }

  func memoryPruningWithoutSessionsLeavesDurableRecords(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let task = Self.finished(1, in: .shared)
    try await write(store, about: .shared) { ($0.createdTasks, $0.updatedTasks) = ([task], [task]) }
    var pruning = Pruning(in: .memory)
    pruning.tasks = [task.id]
    try await write(store, about: nil) { [pruning] in $0.pruning = pruning }
    #expect(try await store.task(task.id) == task)
    await store.close()
  }

  func memoryPruningLeavesDurableRecords(_ kind: LedgerKind) async throws {
    let store = try await open(LedgerBench(kind))
    let tasks = [Self.finished(1), Self.finished(2, in: .shared)]
    for task in tasks {
      try await write(store, about: task.sessionID) { change in
        (change.createdTasks, change.updatedTasks) = ([task], [task])
        change.events = [Self.event(of: task.sessionID, task: task.id)]
      }
    }
    let late = Self.time.adding(seconds: 1000)
    func found(in place: StorageTier) async throws -> [TaskID] {
      try await store.finishedTasks(.ended(by: late), in: place, limit: 9).map(\.id)
    }
    #expect(try await found(in: .memory) == [tasks[0].id])
    #expect(try await found(in: .durable) == [tasks[1].id])
    #expect(try await store.finishedTasks(.keeping, limit: 9).map(\.id) == [tasks[1].id])
    #expect(try await store.keptBytes() == 4)
    let events = try await store.oldestEvents(in: .memory, limit: 9)
    #expect(events.count == 1)
    var pruning = Pruning(in: .memory)
    pruning.tasks = [tasks[0].id]
    pruning.events = PrunedEvents(through: events[0].last, time: Self.time)
    try await write(store, about: nil) { [pruning] in $0.pruning = pruning }
    #expect(try await store.task(tasks[0].id) == nil)
    #expect(try await store.task(tasks[1].id) != nil)
    #expect(try await store.oldestEvents(in: .memory, limit: 9) == [])
    #expect(try await store.oldestEvents(limit: 9).count == 1)
    let page = try await store.journal(.session(Self.session.id), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments == [] && page.pruned.through == events[0].last)
    await store.close()
  }

  func journalPageMergesBothLedgers(_ kind: LedgerKind) async throws {
    let store = try await open(LedgerBench(kind))
    try await write(store, about: nil) { $0.sessions = [.shared(.shared, of: .default)] }
    for number in 0..<12 {
      let session = number.isMultiple(of: 3) ? Self.session.id : SessionID.shared
      try await write(store, about: session) { $0.events = [Self.event(of: session)] }
    }
    var (last, pages, numbers): (Int64, Int, [Int64]) = (0, 0, [])
    while pages < 99 {
      pages += 1
      // Each page has one fragment of each ledger.
      let page = try await store.journal(.tenant(.default), after: last, maximumBytes: 1)
      numbers += page.fragments.map(\.first)
      last = page.coveredSequence
      if page.isLast { break }
    }
    #expect(numbers.count == 12 && numbers == numbers.sorted() && pages > 3 && last == store.lastSequence)
    await store.close()
  }

  func lateChangeOfDeletedSessionIsNotDurable(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let store = try await open(bench)
    try await write(store) { $0.deletedSession = Self.session.id }
    try await write(store) { change in
      change.createdTasks = [Self.task(1)]
      change.events = [Self.event()]
    }
    await store.close()
    let next = try bench.open()
    #expect(try await next.task(LedgerBench.id(1)) == nil)
    #expect(try await next.hasTasks(Self.session.id) == false)
    await next.close()
  }

  private func change(_ store: any Ledger, _ ownership: OwnershipChange) async throws {
    try await write(store, about: nil) { $0.ownership = ownership }
  }

  func fencedProcessWritesNothingInMemory(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    for (store, address) in [(first, "a"), (second, "b")] {
      try await change(store, .joins(address: address))
    }
    try await write(first) { $0.sessions = [Self.session] }
    try await change(second, .takesOver([try #require(first.epoch)]))
    await #expect { try await write(first) { $0.events = [Self.event()] } } throws: { error in
      if case LedgerError.fencedOff = error { true } else { false }
    }
    for store in [first, second] { await store.close() }
  }

  func processWithoutShardsWritesItsEphemeralSessions(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    for (store, address) in [(first, "a"), (second, "b")] {
      try await change(store, .joins(address: address))
    }
    try await change(second, .takesOver([]))
    try await write(first) { $0.sessions = [Self.session] }
    try await write(first) { $0.events = [Self.event()] }
    #expect(
      try await first.journal(.session(Self.session.id), after: 0, maximumBytes: 99).fragments.count == 1)
    for store in [first, second] { await store.close() }
  }

  func deletedSessionLeavesNoRecords(_ kind: LedgerKind) async throws {
    let store = try await open(LedgerBench(kind))
    try await write(store) { change in
      change.createdTasks = (1...9).map { Self.task($0) }
      change.events = [Self.event(task: LedgerBench.id(1)), Self.event()]
      change.newDeliveries = [Self.delivery(1, at: 0, of: Self.session.id)]
      change.replaceReply(Self.reply("a"), about: Self.session.id)
    }
    var settled = Self.delivery(1, at: 0, of: Self.session.id)
    settled.finish(.delivered, at: Self.time)
    try await write(store) { [settled] in $0.updatedDeliveries = [settled] }
    try await write(store) { $0.partlyDeletedSession = Self.session.id }
    #expect(try await store.hasTasks(Self.session.id) == false)
    try await write(store) { $0.deletedSession = Self.session.id }
    #expect(try await store.session(Self.session.id) == nil)
    #expect(try await store.journal(.session(Self.session.id), after: 0, maximumBytes: 99).fragments == [])
    let stale = try await store.retentionRecords(in: .memory).staleRecords(
      .init(deliveries: Self.time, decisions: Self.time, replies: Self.time, groups: Self.time), limit: 9)
    #expect(stale.deliveries == [] && stale.decisions == [])
    await store.close()
  }

  func dueDeliveriesAreMergedByTime(_ kind: LedgerKind) async throws {
    let store = try await open(LedgerBench(kind))
    for (number, session) in zip(1..., [Self.session.id, .shared, Self.session.id, SessionID.shared]) {
      let delivery = Self.delivery(UInt64(number), at: Double(number), of: session)
      try await write(store, about: session) { $0.newDeliveries = [delivery] }
    }
    let late = Self.time.adding(seconds: 60)
    let ids = (1...4).map { LedgerBench.id($0) as DeliveryID }
    #expect(try await store.dueSamples(at: late).map(\.id) == ids)
    #expect(try await store.dueSamples(at: late, limit: 3).map(\.id) == Array(ids.prefix(3)))
    #expect(
      try await store.dueSamples(at: Self.time.adding(seconds: 2)).map(\.id)
        == Array(ids.prefix(2)))
    #expect(try await store.nextSampleTime(after: Self.time) == Self.time.adding(seconds: 1))
    await store.close()
  }
}
