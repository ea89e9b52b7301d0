package import Ledger
import MemoryLedger
import Synchronization
package import TransferModel

/// An implementation of `Ledger`.
package struct LedgerKind: Sendable {
  /// Opens the database for one more process.
  /// - Parameter publish: receives the published commits.
  package typealias Open = @Sendable (_ publish: @escaping @Sendable (Feed) -> Void) throws -> any Ledger

  /// Creates an empty database.
  let makeDatabase: @Sendable () -> Open

  package init(_ makeDatabase: @escaping @Sendable () -> Open) { self.makeDatabase = makeDatabase }

  /// The same kind, with the records of ephemeral sessions in memory.
  package var withMemory: LedgerKind {
    LedgerKind { [makeDatabase] in
      let open = makeDatabase()
      return { publish in CompositeLedger(try open(publish)) }
    }
  }
}

/// A database, with the ledgers of processes that open it.
///
/// Suites that open databases are `.serialized`, because each ledger may have four descriptors. In a process with more than about 1,300
/// descriptors, Foundation's `Process.run` reads past the end of a buffer (swift-corelibs-foundation, pull request 5472).
package final class LedgerBench: Sendable {
  package static let time = Timestamp(seconds: 1_800_000_000)

  private let database: LedgerKind.Open
  private let all = Mutex<[JournalFragment]>([])

  package init(_ kind: LedgerKind) { database = kind.makeDatabase() }

  /// The commits that all ledgers have published, in order.
  package var published: [JournalFragment] { all.withLock { $0 } }

  package func open() throws -> any Ledger {
    try open { [self] feed in all.withLock { $0 += feed.fragments } }
  }

  /// - Parameter publish: receives the published commits.
  package func open(_ publish: @escaping @Sendable (Feed) -> Void) throws -> any Ledger {
    try database(publish)
  }

  /// Returns whether the ledger refuses a change because a condition is not met.
  static func isUnmet(_ body: () async throws -> Void) async throws -> Bool {
    do { try await body() } catch LedgerError.conditionFailed { return true }
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
    _ query: FinishedTaskQuery, in place: StorageTier = .durable, limit: Int
  ) async throws(LedgerError) -> [FinishedTask] {
    try await retentionRecords(in: place).finishedTasks(query, limit: limit)
  }

  package func keptBytes() async throws(LedgerError) -> Int64 {
    try await retentionRecords(in: .durable).keptBytes()
  }

  package func staleRecords(
    _ ages: ExpiredRecords.Cutoffs, limit: Int
  ) async throws(LedgerError) -> ExpiredRecords {
    try await retentionRecords(in: .durable).staleRecords(ages, limit: limit)
  }

  package func oldestEvents(
    in place: StorageTier = .durable, limit: Int
  ) async throws(LedgerError) -> [JournalRowAge] {
    try await retentionRecords(in: place).oldestEvents(limit: limit)
  }

  package func write(_ fill: (inout LedgerChange) -> Void) async throws {
    var change = LedgerChange()
    fill(&change)
    try await write(change)
  }

  /// Returns the reply under a key to the request with this digest.
  package func reply(under key: IdempotencyKey, to digest: [UInt8] = [1]) async throws -> IdempotentReply? {
    guard case .matching(let reply)? = try await idempotentReply(key, to: digest) else { return nil }
    return reply
  }
}
