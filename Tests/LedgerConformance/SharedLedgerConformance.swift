import Ledger
import Synchronization
import Testing
import TransferModel

/// The contract for several processes with one ledger. Each ledger of a database stands for a process.
struct SharedLedgerConformance {
  static let cases: [ConformanceCase] = [
    .init("everyProcessPublishesAllCommitsInOrder") {
      try await Self().everyProcessPublishesAllCommitsInOrder($0)
    },
    .init("idleProcessPublishesRemoteCommits") {
      try await Self().idleProcessPublishesRemoteCommits($0)
    },
    .init("largeGapIsReadFromTheJournal") { try await Self().largeGapIsReadFromTheJournal($0) },
    .init("eventsOfARemoteSessionHaveItsTenant") {
      try await Self().eventsOfARemoteSessionHaveItsTenant($0)
    },
    .init("idempotencyKeyIsClaimedByOneProcess") { try await Self().idempotencyKeyIsClaimedByOneProcess($0) },
    .init("expiredReplyFreesItsKey") { try await Self().expiredReplyFreesItsKey($0) },
    .init("configurationRevisionIsReplacedOnce") { try await Self().configurationRevisionIsReplacedOnce($0) },
    .init("conditionalTaskChangeSucceedsOnce") { try await Self().conditionalTaskChangeSucceedsOnce($0) },
  ]

  private static let time = LedgerBench.time

  /// Records the commits that a ledger publishes.
  private final class CommitObserver: Sendable {
    private let heard = Mutex<[Feed]>([])
    func hear(_ feed: Feed) { heard.withLock { $0.append(feed) } }
    var feed: [Feed] { heard.withLock { $0 } }
    var numbers: [Int64] { feed.flatMap(\.fragments).flatMap { Array($0.first...$0.last) } }
    var leaps: [Int64] {
      feed.compactMap { if case .gap(let sequence) = $0 { sequence } else { nil } }
    }
  }

  private static func event(of session: SessionID = .shared) -> LedgerChange {
    var change = LedgerChange()
    change.events = [
      TransferEvent(.sessionDidBecomeInvalid, at: time, session: session, .none)
    ]
    return change
  }

  private static func reply(_ key: String, _ status: Int, age: Double = 0) -> IdempotentReply {
    IdempotentReply(
      key: LedgerBench.key(key), digest: [1], status: status, contentType: "a/b", location: nil,
      body: [2], createdAt: time.adding(seconds: -age))
  }

  private static func answering(_ reply: IdempotentReply) -> LedgerChange {
    var change = event()
    change.answer(reply)
    return change
  }

  // MARK: Numbers and feeds

  func everyProcessPublishesAllCommitsInOrder(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let ears = [CommitObserver(), CommitObserver()]
    let stores = try ears.map { try bench.open($0.hear) }
    await withTaskGroup(of: Void.self) { group in
      for store in stores {
        group.addTask { for _ in 0..<100 { try? await store.write(Self.event()) } }
      }
    }
    for store in stores {
      store.publishRemoteCommits()
      await store.close()
    }
    for ear in ears { #expect(ear.numbers == Array(1...200)) }
  }

  func idleProcessPublishesRemoteCommits(
    _ kind: LedgerKind
  ) async throws {
    let bench = LedgerBench(kind)
    let ear = CommitObserver()
    let (listener, writer) = (try bench.open(ear.hear), try bench.open())
    try await writer.write(Self.event())
    #expect(ear.feed.isEmpty)
    listener.publishRemoteCommits()
    listener.publishRemoteCommits()
    await listener.close()
    await writer.close()
    #expect(ear.numbers == [1] && listener.lastSequence == 1)
  }

  func largeGapIsReadFromTheJournal(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let ear = CommitObserver()
    let (listener, writer) = (try bench.open(ear.hear), try bench.open())
    try await listener.write(Self.event())
    for _ in 0...Feed.gapLimit { writer.record(Self.event()) {} }
    try await writer.write(Self.event())
    try await listener.write(Self.event())
    await listener.close()
    await writer.close()
    #expect(ear.leaps == [1])
    #expect(ear.numbers == [1, Int64(Feed.gapLimit) + 4])
  }

  func eventsOfARemoteSessionHaveItsTenant(_ kind: LedgerKind)
    async throws
  {
    let bench = LedgerBench(kind)
    let ear = CommitObserver()
    let (first, second) = (try bench.open(), try bench.open(ear.hear))
    let tenant = Tenant(name: "t")
    let session = TransferSession.shared(LedgerBench.id(5), of: tenant)
    try await first.write { $0.sessions = [session] }
    try await second.write(Self.event(of: session.id))
    await first.close()
    await second.close()
    #expect(ear.feed.flatMap(\.fragments).map(\.tenant) == [tenant])
  }

  // MARK: Conditions

  func idempotencyKeyIsClaimedByOneProcess(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let stores = [try bench.open(), try bench.open()]
    for round in 0..<20 {
      let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
        for (index, store) in stores.enumerated() {
          for repetition in 0..<3 {
            group.addTask {
              let reply = Self.reply("k\(round)", 200 + index * 10 + repetition)
              return try await LedgerBench.isUnmet { try await store.write(Self.answering(reply)) }
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.count { !$0 } == 1)
      let kept = try await stores[0].reply(under: LedgerBench.key("k\(round)"))
      #expect(try await stores[1].reply(under: LedgerBench.key("k\(round)")) == kept && kept != nil)
    }
    // Refused changes left nothing and used no event numbers.
    let page = try await stores[0].journal(.session(.shared), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments.map(\.first) == Array(1...20))
    for store in stores { await store.close() }
  }

  func expiredReplyFreesItsKey(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let old = Self.reply("k", 201, age: IdempotentReply.retention + 1)
    try await store.write(Self.answering(old))
    #expect(try await LedgerBench.isUnmet { try await store.write(Self.answering(old)) })
    try await store.write(Self.answering(Self.reply("k", 202)))
    #expect(try await LedgerBench.isUnmet { try await store.write(Self.answering(Self.reply("k", 203))) })
    #expect(try await store.reply(under: LedgerBench.key("k"))?.status == 202)
    // The process that has the key may replace its reply.
    try await store.write { $0.replaceReply(Self.reply("k", 204), about: nil) }
    #expect(try await store.reply(under: LedgerBench.key("k"))?.status == 204)
    await store.close()
  }

  func conditionalTaskChangeSucceedsOnce(
    _ kind: LedgerKind, in session: TransferSession = .shared(.shared, of: .default)
  ) async throws {
    let store = try LedgerBench(kind).open()
    let task = TransferTask(
      id: LedgerBench.id(3), sessionID: session.id, taskIdentifier: 1, createdAt: Self.time,
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/")))
    try await store.write {
      $0.owner = session.id
      $0.sessions = [session]
      $0.createdTasks = [task]
    }
    let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<9 {
        group.addTask {
          var changed = task
          changed.description = "\(number)"
          let written = changed
          return try await LedgerBench.isUnmet {
            try await store.write {
              $0.owner = session.id
              $0.editedTasks = [written]
              $0.conditions = [.unchanged(task)]
            }
          }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.count { !$0 } == 1)
    #expect(try await store.task(task.id)?.description != nil)
    await store.close()
  }

  func configurationRevisionIsReplacedOnce(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let stores = [try bench.open(), try bench.open()]
    let name = LedgerBench.name("n")
    func write(_ store: any Ledger, _ time: Double, inPlaceOf known: Double?) async throws -> Bool {
      try await LedgerBench.isUnmet {
        try await store.write {
          $0.configurations = [
            NamedConfiguration(
              name: name, configuration: SessionConfiguration(), createdAt: Self.time,
              updatedAt: Self.time.adding(seconds: time))
          ]
          $0.conditions = [
            .revision(name, updatedAt: known.map { Self.time.adding(seconds: $0) })
          ]
        }
      }
    }
    #expect(try await write(stores[0], 1, inPlaceOf: 7))
    #expect(try await !write(stores[0], 1, inPlaceOf: nil))
    #expect(try await write(stores[1], 2, inPlaceOf: nil))
    #expect(try await !write(stores[1], 2, inPlaceOf: 1))
    #expect(try await write(stores[0], 3, inPlaceOf: 1))
    #expect(try await stores[0].configuration(name)?.updatedAt == Self.time.adding(seconds: 2))
    try await stores[0].write { $0.deletedConfigurations = [name] }
    #expect(try await write(stores[1], 3, inPlaceOf: 2))
    #expect(try await !write(stores[1], 3, inPlaceOf: nil))
    for store in stores { await store.close() }
  }
}
