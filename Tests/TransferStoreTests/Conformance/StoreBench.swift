import Crypto
import MemoryStore
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// What there is that promises to be a store. Each passes the same tests.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case sqlite, memory

  var testDescription: String { rawValue }
}

/// A database, and the stores of processes that open it one after the other.
///
/// Suites that open databases are `.serialized`: each store has four descriptors, and where a process has more than some 1,300 of them,
/// Foundation's `Process.run` reads past the end of a buffer (swift-corelibs-foundation, pull request 5472).
final class StoreBench: Sendable {
  static let time = Timestamp(seconds: 1_800_000_000)

  private let kind: StoreKind
  private let path = TemporaryDirectory.make("ferry-store") + "/test.db"
  private let memory = MemoryDatabase()
  private let all = Mutex<[JournalFragment]>([])

  init(_ kind: StoreKind) { self.kind = kind }

  /// What was published, in its order, by all stores.
  var published: [JournalFragment] { all.withLock { $0 } }

  func open() throws -> any Ledger {
    try open { [self] feed in all.withLock { $0 += feed.fragments } }
  }

  /// - Parameter publish: hears what the store tells streams.
  func open(_ publish: @escaping @Sendable (Feed) -> Void) throws -> any Ledger {
    switch kind {
    case .sqlite:
      let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
      return try SQLiteStore(path: path, box: box, published: publish)
    case .memory: return MemoryStore(on: memory, .atOnce, published: publish)
    }
  }

  static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }
  static func key(_ text: String) -> IdempotencyKey { IdempotencyKey(tenant: .default, text: text) }
  static func name(_ text: String) -> ConfigurationName {
    ConfigurationName(tenant: .default, text: text)
  }
}

extension Ledger {
  func write(_ fill: (inout StoreChange) -> Void) async throws {
    var change = StoreChange()
    fill(&change)
    try await write(change)
  }

  /// The reply to the request of that digest.
  func reply(under key: IdempotencyKey, to digest: [UInt8] = [1]) async throws -> IdempotentReply? {
    guard case .matching(let reply)? = try await idempotentReply(key, to: digest) else { return nil }
    return reply
  }
}
