import Crypto
import Foundation
import GRDB
import Ledger
import LedgerConformance
import Records
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// The queues between service and worker: commands, work and reports.
@Suite(.serialized) struct ProcessQueueTests {
  private let path = TemporaryDirectory.make("ferry-work") + "/test.db"
  private static let time = Timestamp(seconds: 1_800_000_000)
  private static let marker = "a-marker-that-nobody-may-read"

  private static func box(_ keys: UInt8...) -> SecretBox {
    SecretBox(secrets: keys.map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
  }
  private static func task(_ number: UInt64) -> TaskID { TaskID(at: time, random: (number, number)) }
  private static func session(_ number: UInt64) -> SessionID { SessionID(at: time, random: (number, number)) }

  private func open(_ box: SecretBox = Self.box(1)) throws -> SQLiteLedger {
    try SQLiteLedger(path: path, box: box) { _ in }
  }

  private static func command(_ text: String, _ number: UInt64 = 1) -> StoredCommand {
    StoredCommand(session: session(number), document: text)
  }
  private static func work(_ number: UInt64, _ text: String, in session: UInt64 = 1) -> StoredWork {
    StoredWork(task: task(number), session: Self.session(session), document: text)
  }

  private func write(_ store: SQLiteLedger, _ body: (inout LedgerChange) -> Void) async throws {
    var change = LedgerChange()
    body(&change)
    try await store.write(change)
  }

  private func fill(_ store: SQLiteLedger) async throws {
    try await write(store) { change in
      change.commands = [Self.command(Self.marker)]
      change.work = [Self.work(1, Self.marker)]
      change.workerReports = [Self.marker]
    }
  }

  private func expectAll(_ store: SQLiteLedger) async throws {
    #expect(try await store.commands(after: 0, limit: 9).map(\.content) == [Self.command(Self.marker)])
    #expect(try await store.work() == [Self.work(1, Self.marker)])
    #expect(try await store.workerReports(after: 0, limit: 9).map(\.content) == [Self.marker])
  }

  @Test func `documents of the queues are not readable in the file`() async throws {
    let store = try open()
    try await fill(store)
    func bytes() throws -> Data {
      let files = [path, path + "-wal"].filter { FileManager.default.fileExists(atPath: $0) }
      return try files.reduce(Data()) { try $0 + Data(contentsOf: URL(fileURLWithPath: $1)) }
    }
    let box = Self.box(1)
    let sealed = try await DatabaseQueue(path: path).read { database in
      try ["command", "work", "news"].map {
        try String.fetchOne(database, sql: "SELECT sealed FROM \($0)") ?? ""
      }
    }
    #expect(sealed.map { box.open($0) } == [Self.marker, Self.marker, Self.marker])
    for text in sealed {
      #expect(text.hasPrefix("sealed:"))
      // The search covers the files that contain the rows.
      #expect(try bytes().range(of: Data(text.utf8)) != nil)
    }
    #expect(try bytes().range(of: Data(Self.marker.utf8)) == nil)
    await store.close()
    #expect(try bytes().range(of: Data(Self.marker.utf8)) == nil)
  }

  /// A document under another key is read as empty.
  @Test func `documents under another key are empty`() async throws {
    let store = try open()
    try await fill(store)
    await store.close()
    // As after the loss of a key.
    let queue = try DatabaseQueue(path: path)
    try await queue.write { try KeyCheck.write($0, Self.box(2)) }
    try queue.close()
    let other = try open(Self.box(2))
    #expect(try await other.commands(after: 0, limit: 9).map(\.content.document) == [""])
    #expect(try await other.work().isEmpty)
    #expect(other.unreadable.row(.work, Self.task(1))?.place == "sealed")
    #expect(try await other.workerReports(after: 0, limit: 9).map(\.content) == [""])
    await other.close()
  }

  @Test func `rotation seals the queues under the new key`() async throws {
    let store = try open()
    try await fill(store)
    await store.close()
    #expect(try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) {} == 3)
    let new = try open(Self.box(2))
    try await expectAll(new)
    await new.close()
    #expect(throws: OpeningError.otherKey) {
      try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(3)) {}
    }
    #expect(throws: SecretRotation.UnknownKey.self) {
      try SecretRotation.run(database: path, from: Self.box(2), to: Self.box(3)) {}
    }
  }

  // MARK: Empty changes

  @Test func `changes of the queues are not empty`() {
    let changes: [(inout LedgerChange) -> Void] = [
      { $0.commands = [Self.command("a")] }, { $0.takenCommands = [1...1] },
      { $0.work = [Self.work(1, "a")] },
      { $0.finishedWork = [Self.task(1)] }, { $0.workerReports = ["a"] }, { $0.consumedReports = [1...1] },
    ]
    #expect(LedgerChange().isEmpty)
    for body in changes {
      var change = LedgerChange()
      body(&change)
      #expect(!change.isEmpty)
    }
  }

}
