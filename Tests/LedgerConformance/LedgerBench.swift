package import Ledger
import MemoryLedger
import Synchronization
package import TransferModel

/// An implementation of `Ledger`.
package struct LedgerKind: Sendable {
  /// Opens a database on behalf of one more process.
  /// - Parameter publish: receives what the ledger publishes.
  package typealias Open = @Sendable (_ publish: @escaping @Sendable (Feed) -> Void) throws -> any Ledger

  /// Makes an empty database.
  let makeDatabase: @Sendable () -> Open

  package init(_ makeDatabase: @escaping @Sendable () -> Open) { self.makeDatabase = makeDatabase }

  /// The same, with the records of ephemeral sessions in memory.
  package var withMemory: LedgerKind {
    LedgerKind { [makeDatabase] in
      let open = makeDatabase()
      return { publish in CompositeLedger(try open(publish)) }
    }
  }
}

/// A database, and the ledgers of processes that open it one after the other.
///
/// Suites that open databases are `.serialized`: each ledger may have four descriptors, and if a process has more than some 1,300 of
/// them, Foundation's `Process.run` reads past the end of a buffer (swift-corelibs-foundation, pull request 5472).
package final class LedgerBench: Sendable {
  package static let time = Timestamp(seconds: 1_800_000_000)

  private let database: LedgerKind.Open
  private let all = Mutex<[JournalFragment]>([])

  package init(_ kind: LedgerKind) { database = kind.makeDatabase() }

  /// What was published, in its order, by all ledgers.
  package var published: [JournalFragment] { all.withLock { $0 } }

  package func open() throws -> any Ledger {
    try open { [self] feed in all.withLock { $0 += feed.fragments } }
  }

  /// - Parameter publish: receives what the ledger publishes.
  package func open(_ publish: @escaping @Sendable (Feed) -> Void) throws -> any Ledger {
    try database(publish)
  }

  /// Whether the ledger refuses a change because a condition of it does not hold.
  static func isUnmet(_ body: () async throws -> Void) async throws -> Bool {
    do { try await body() } catch StoreError.unmet { return true }
    return false
  }

  package static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }
  package static func key(_ text: String) -> IdempotencyKey { IdempotencyKey(tenant: .default, text: text) }
  package static func name(_ text: String) -> ConfigurationName {
    ConfigurationName(tenant: .default, text: text)
  }
}

extension Ledger {
  package func finishedTasks(
    _ query: FinishedTaskQuery, in place: RetainedPlace = .durable, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    try await retained(in: place).finishedTasks(query, limit: limit)
  }

  package func keptBytes() async throws(StoreError) -> Int64 { try await retained(in: .durable).keptBytes() }

  package func staleRecords(
    _ ages: StaleRecords.Ages, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    try await retained(in: .durable).staleRecords(ages, limit: limit)
  }

  package func oldestEvents(
    in place: RetainedPlace = .durable, limit: Int
  ) async throws(StoreError) -> [AgedEvents] {
    try await retained(in: place).oldestEvents(limit: limit)
  }

  package func write(_ fill: (inout StoreChange) -> Void) async throws {
    var change = StoreChange()
    fill(&change)
    try await write(change)
  }

  /// The reply to the request of that digest.
  package func reply(under key: IdempotencyKey, to digest: [UInt8] = [1]) async throws -> IdempotentReply? {
    guard case .matching(let reply)? = try await idempotentReply(key, to: digest) else { return nil }
    return reply
  }
}
