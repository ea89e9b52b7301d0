import Ledger
import Testing
import TransferModel

/// The contract for the queues between service and worker: commands, work and reports.
struct QueueConformance {
  static let cases: [ConformanceCase] = [
    .init("commandsAreReadInOrderUntilConsumed") {
      try await Self().commandsAreReadInOrderUntilConsumed($0)
    },
    .init("workerReportsAreReadInOrderUntilConsumed") {
      try await Self().workerReportsAreReadInOrderUntilConsumed($0)
    },
    .init("queueNumbersAreNotReused") { try await Self().queueNumbersAreNotReused($0) },
    .init("workIsStoredByTaskUntilFinished") {
      try await Self().workIsStoredByTaskUntilFinished($0)
    },
    .init("batchReadSkipsUnknownTasks") { try await Self().batchReadSkipsUnknownTasks($0) },
    .init("deletedSessionLosesCommandsAndWork") {
      try await Self().deletedSessionLosesCommandsAndWork($0)
    },
  ]

  private static let time = LedgerBench.time
  private static func task(_ number: UInt64) -> TaskID { LedgerBench.id(number) }
  private static func session(_ number: UInt64) -> SessionID { LedgerBench.id(number) }

  private static func command(_ text: String, _ number: UInt64 = 1) -> StoredCommand {
    StoredCommand(session: session(number), document: text)
  }
  private static func work(_ number: UInt64, _ text: String, in session: UInt64 = 1) -> StoredWork {
    StoredWork(task: task(number), session: Self.session(session), document: text)
  }
  func commandsAreReadInOrderUntilConsumed(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    try await store.write { $0.commands = [Self.command("a"), Self.command("b", 2)] }
    try await store.write { $0.commands = [Self.command("c")] }
    let all = try await store.commands(after: 0, limit: 10)
    #expect(all.map(\.number) == [1, 2, 3])
    #expect(all.map(\.content) == [Self.command("a"), Self.command("b", 2), Self.command("c")])
    #expect(try await store.commands(after: 1, limit: 1).map(\.number) == [2])
    #expect(try await store.commands(after: 3, limit: 1).isEmpty)
    try await store.write { $0.takenCommands = [1...2] }
    #expect(try await store.commands(after: 0, limit: 10).map(\.content.document) == ["c"])
    await store.close()
  }

  func workerReportsAreReadInOrderUntilConsumed(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    try await store.write { $0.workerReports = ["a", "b"] }
    try await store.write { $0.workerReports = ["c"] }
    #expect(try await store.workerReports(after: 0, limit: 2).map(\.content) == ["a", "b"])
    #expect(try await store.workerReports(after: 2, limit: 2).map(\.content) == ["c"])
    try await store.write { change in
      change.consumedReports = [1...2]
      change.workerReports = ["d"]
    }
    #expect(try await store.workerReports(after: 0, limit: 10).map(\.content) == ["c", "d"])
    await store.close()
  }

  /// Numbers grow even if all rows were consumed and another process writes. Otherwise a reader could miss rows.
  func queueNumbersAreNotReused(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    for round in 0..<3 {
      let store = try bench.open()
      try await store.write { change in
        change.commands = [Self.command("a")]
        change.workerReports = ["a"]
      }
      let commands = try await store.commands(after: 0, limit: 10).map(\.number)
      let news = try await store.workerReports(after: 0, limit: 10).map(\.number)
      #expect(commands == [Int64(round + 1)] && news == commands)
      try await store.write { change in
        change.takenCommands = commands.map { $0...$0 }
        change.consumedReports = news.map { $0...$0 }
      }
      #expect(try await store.commands(after: 0, limit: 10).isEmpty)
      #expect(try await store.workerReports(after: 0, limit: 10).isEmpty)
      await store.close()
    }
  }

  func workIsStoredByTaskUntilFinished(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    try await store.write { $0.work = [Self.work(2, "a"), Self.work(1, "b", in: 2)] }
    try await store.write { $0.work = [Self.work(2, "c")] }
    #expect(try await store.work() == [Self.work(1, "b", in: 2), Self.work(2, "c")])
    try await store.write { change in
      // A task that is both written and finished in one change is finished.
      change.work = [Self.work(3, "d")]
      change.finishedWork = [Self.task(3), Self.task(2)]
    }
    #expect(try await store.work() == [Self.work(1, "b", in: 2)])
    await store.close()
  }

  func batchReadSkipsUnknownTasks(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let tasks = (1...3).map { number in
      TransferTask(
        id: Self.task(number), sessionID: .shared, taskIdentifier: Int(number), createdAt: Self.time,
        specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/\(number)")))
    }
    try await store.write { $0.createdTasks = tasks }
    #expect(try await store.tasks([Self.task(3), Self.task(9), Self.task(1)]) == [tasks[2], tasks[0]])
    #expect(try await store.tasks([]).isEmpty)
    await store.close()
  }

  func deletedSessionLosesCommandsAndWork(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    try await store.write { change in
      change.commands = [Self.command("a", 1), Self.command("b", 2)]
      change.work = [Self.work(1, "a", in: 1), Self.work(2, "b", in: 2)]
      change.workerReports = ["a"]
    }
    try await store.write { $0.deletedSession = Self.session(1) }
    #expect(try await store.commands(after: 0, limit: 9).map(\.content) == [Self.command("b", 2)])
    #expect(try await store.work() == [Self.work(2, "b", in: 2)])
    // Reports stay: their documents name the session, and the service consumes them as usual.
    #expect(try await store.workerReports(after: 0, limit: 9).map(\.content) == ["a"])
    await store.close()
  }
}
