import Crypto
import GRDB
import Ledger
import LedgerConformance
import Records
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Programs of two versions with one database. The later version is this one with another migration.
@Suite(.serialized, .endsInTime) struct SeveralVersionsTests {
  private static let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
  private static let next = Schema.current.newest + 1
  private static let name = "\(next) tomorrow's"
  private let path = TemporaryDirectory.make("ferry-versions") + "/test.db"

  /// A later version that only adds tables, columns and indices.
  private static let adding = Schema(
    newest: next, oldest: Schema.current.oldest,
    additions: [
      (
        name,
        """
        ALTER TABLE session ADD COLUMN hue TEXT NOT NULL DEFAULT 'grey';
        ALTER TABLE journal ADD COLUMN weight INTEGER;
        CREATE TABLE later (id BLOB PRIMARY KEY NOT NULL);
        CREATE INDEX session_by_hue ON session (hue, id);
        """
      )
    ])
  /// A later version that renames a column.
  private static let changing = Schema(
    newest: next, oldest: next, additions: [(name, "ALTER TABLE session RENAME COLUMN type TO sort")])

  private func open(
    _ schema: Schema = .current, fencedOff: @escaping @Sendable () -> Void = {}
  ) throws -> SQLiteLedger {
    try SQLiteLedger(
      DatabaseFile(path: path, schema: schema), box: Self.box, fencedOff: fencedOff, published: nil)
  }

  private static func session(_ number: UInt64) -> TransferSession {
    TransferSession(
      id: SessionID(high: 0x7000, low: 0x8000_0000_0000_0000 | number), type: .default,
      createdAt: LedgerBench.time, description: nil, configuration: SessionConfiguration(), delegate: nil,
      identifier: nil, tenant: .default)
  }

  /// Creates a session with one event.
  private static func write(_ number: UInt64, to store: SQLiteLedger) async throws {
    let session = session(number)
    try await store.write { change in
      change.sessions = [session]
      change.events = [
        TransferEvent(.sessionDidBecomeInvalid, at: LedgerBench.time, session: session.id, .none)
      ]
    }
  }

  private static func numbers(_ store: SQLiteLedger) async throws -> [UInt64] {
    try await store.sessions().map { $0.session.id.low & 0xFF }.sorted()
  }

  @Test func `additions are compatible with older programs`() async throws {
    let older = try open()
    try await Self.write(1, to: older)
    let later = try open(Self.adding)
    for number: UInt64 in [2, 4, 6] {
      try await Self.write(number, to: later)
      try await Self.write(number + 1, to: older)
    }
    for store in [older, later] { #expect(try await Self.numbers(store) == [1, 2, 3, 4, 5, 6, 7]) }
    // The older program opens the database again, both with and without the later one.
    await older.close()
    let again = try open()
    await later.close()
    try await Self.write(8, to: again)
    await again.close()
    let alone = try open()
    #expect(try await Self.numbers(alone).count == 8)
    await alone.close()
    // The older program cannot know which new columns to re-encrypt.
    #expect(throws: OpeningError.newer([Self.name])) {
      try SecretRotation.run(database: path, from: Self.box, to: Self.box) {}
    }
  }

  @Test func `incompatible change waits for older programs`() async throws {
    let older = try open()
    try await Self.write(1, to: older)
    let other = try open()
    for _ in 0..<2 { #expect(throws: OpeningError.older) { try open(Self.changing) } }
    // The older programs are not affected.
    try await Self.write(2, to: older)
    await older.close()
    #expect(throws: OpeningError.older) { try open(Self.changing) }
    try await Self.write(3, to: other)
    await other.close()
    let later = try open(Self.changing)
    let same = try open(Self.changing)
    #expect(throws: OpeningError.newer([Self.name])) { try open() }
    await later.close()
    await same.close()
    #expect(throws: OpeningError.newer([Self.name])) { try open() }
    // A version with a lower `oldest` does not admit older programs again.
    let third = Schema(
      newest: Self.next + 1, oldest: Schema.current.oldest, additions: Self.changing.additions)
    await (try open(third)).close()
    #expect(throws: OpeningError.newer([Self.name])) { try open() }
  }

  @Test func `failed opening leaves no version lock`() async throws {
    #expect(throws: OpeningError.missing) {
      try SQLiteLedger(DatabaseFile(path: path), box: Self.box, mayCreate: false, published: nil)
    }
    await (try open(Self.changing)).close()
  }

  /// A new migration or document form needs a decision about `oldest`.
  @Test func `declared version matches the migrations`() {
    #expect(Schema.current.newest == Migrations.first + Migrations.migrator(Self.box).migrations.count - 1)
    #expect(Schema.current.oldest <= Schema.current.newest)
    let forms = [100: 1, 101: 1, 102: 1]
    #expect(forms[Schema.current.oldest] == Document.version)
  }

  // MARK: Fencing

  /// A process that has left in order is not fenced off by a later take-over.
  @Test(arguments: [true, false]) func `take over fences off, leaving does not`(_ leaves: Bool) async throws {
    let count = Atomic(0)
    let first = try open { count.add(1, ordering: .relaxed) }
    let second = try open()
    for store in [first, second] {
      try await store.write { $0.ownership = .joins(address: "here") }
    }
    let epoch = try #require(first.epoch)
    if leaves {
      try await first.write { $0.ownership = .leaves }
    } else {
      try await second.write { $0.ownership = .takesOver([epoch]) }
    }
    try await Self.write(1, to: second)
    first.publishRemoteCommits()
    await #expect(throws: LedgerError.self) { try await Self.write(2, to: first) }
    for store in [first, second] { await store.close() }
    #expect(count.load(ordering: .relaxed) == (leaves ? 0 : 1))
  }
}
