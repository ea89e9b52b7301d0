import Ledger
import Testing
import TransferModel

/// Commands, work and news: what the two processes leave for each other.
struct QueueConformance {
  static let cases: [ConformanceCase] = [
    .init("commandsComeInOrderAndGoWhenTheyAreTaken") {
      try await Self().commandsComeInOrderAndGoWhenTheyAreTaken($0)
    },
    .init("newsComeInOrderAndGoWhenTheyAreTaken") {
      try await Self().newsComeInOrderAndGoWhenTheyAreTaken($0)
    },
    .init("aNumberIsGivenOutOnce") { try await Self().aNumberIsGivenOutOnce($0) },
    .init("workIsKeptByTaskAndGoesWhenItIsFinished") {
      try await Self().workIsKeptByTaskAndGoesWhenItIsFinished($0)
    },
    .init("ofSomeTasksThoseThatAreThere") { try await Self().ofSomeTasksThoseThatAreThere($0) },
    .init("aDeletedSessionTakesItsCommandsAndWorkAlong") {
      try await Self().aDeletedSessionTakesItsCommandsAndWorkAlong($0)
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
  func commandsComeInOrderAndGoWhenTheyAreTaken(_ kind: LedgerKind)
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

  func newsComeInOrderAndGoWhenTheyAreTaken(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    try await store.write { $0.news = ["a", "b"] }
    try await store.write { $0.news = ["c"] }
    #expect(try await store.news(after: 0, limit: 2).map(\.content) == ["a", "b"])
    #expect(try await store.news(after: 2, limit: 2).map(\.content) == ["c"])
    try await store.write { change in
      change.takenNews = [1...2]
      change.news = ["d"]
    }
    #expect(try await store.news(after: 0, limit: 10).map(\.content) == ["c", "d"])
    await store.close()
  }

  /// Who has read up to a number must not miss what comes later, not even where all was taken and the process is another.
  func aNumberIsGivenOutOnce(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    for round in 0..<3 {
      let store = try bench.open()
      try await store.write { change in
        change.commands = [Self.command("a")]
        change.news = ["a"]
      }
      let commands = try await store.commands(after: 0, limit: 10).map(\.number)
      let news = try await store.news(after: 0, limit: 10).map(\.number)
      #expect(commands == [Int64(round + 1)] && news == commands)
      try await store.write { change in
        change.takenCommands = commands.map { $0...$0 }
        change.takenNews = news.map { $0...$0 }
      }
      #expect(try await store.commands(after: 0, limit: 10).isEmpty)
      #expect(try await store.news(after: 0, limit: 10).isEmpty)
      await store.close()
    }
  }

  func workIsKeptByTaskAndGoesWhenItIsFinished(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    try await store.write { $0.work = [Self.work(2, "a"), Self.work(1, "b", in: 2)] }
    try await store.write { $0.work = [Self.work(2, "c")] }
    #expect(try await store.work() == [Self.work(1, "b", in: 2), Self.work(2, "c")])
    try await store.write { change in
      // Kept and finished in one change: it is finished.
      change.work = [Self.work(3, "d")]
      change.finishedWork = [Self.task(3), Self.task(2)]
    }
    #expect(try await store.work() == [Self.work(1, "b", in: 2)])
    await store.close()
  }

  func ofSomeTasksThoseThatAreThere(_ kind: LedgerKind) async throws {
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

  func aDeletedSessionTakesItsCommandsAndWorkAlong(_ kind: LedgerKind)
    async throws
  {
    let store = try LedgerBench(kind).open()
    try await store.write { change in
      change.commands = [Self.command("a", 1), Self.command("b", 2)]
      change.work = [Self.work(1, "a", in: 1), Self.work(2, "b", in: 2)]
      change.news = ["a"]
    }
    try await store.write { $0.deletedSession = Self.session(1) }
    #expect(try await store.commands(after: 0, limit: 9).map(\.content) == [Self.command("b", 2)])
    #expect(try await store.work() == [Self.work(2, "b", in: 2)])
    // They say themselves whose they are, and are taken as ever.
    #expect(try await store.news(after: 0, limit: 9).map(\.content) == ["a"])
    await store.close()
  }
}
