import Crypto
import Foundation
import GRDB
import Ledger
import Records
import TransferModel

@testable import SQLiteLedger

/// The records in a service's database, read from a copy, so that the data directory stays unchanged.
struct JournalSnapshot {
  /// The maximum number of rows that are read from the start of the journal. These rows contain the first events of
  /// every task.
  private static let limit = 2000

  private(set) var sessions: [SessionID: TransferSession] = [:]
  private(set) var tasks: [TaskID: TransferTask] = [:]
  private(set) var fragments: [JournalFragment] = []
  /// Ended tasks that still have a pending decision.
  private(set) var tasksWithOrphanedDecisions: [TaskID] = []
  /// Whether the whole journal was read.
  private(set) var isWhole = true
  /// Whether the beginning of the journal has been pruned.
  private(set) var isPruned = false
  /// Whether a row is unreadable. Some tests damage rows.
  private(set) var isDamaged = false

  /// Returns `nil` if there is no database, or if SQLite or the keys of the directory cannot open it.
  init?(in directory: String) {
    guard let box = Self.box(in: directory),
      FileManager.default.fileExists(atPath: directory + "/ferry.db")
    else { return nil }
    let copy = TemporaryDirectory.make("ferry-review")
    defer { try? FileManager.default.removeItem(atPath: copy) }
    for name in ["ferry.db", "ferry.db-wal"] {
      try? FileManager.default.copyItem(atPath: directory + "/" + name, toPath: copy + "/" + name)
    }
    do {
      var configuration = Configuration()
      // The copy is deleted afterwards.
      configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
      let database = try DatabaseQueue(path: copy + "/ferry.db", configuration: configuration)
      try database.read { try read($0, box) }
      try database.close()
    } catch {
      return nil
    }
  }

  private static func box(in directory: String) -> SecretBox? {
    guard let text = try? String(contentsOfFile: directory + "/secret-key", encoding: .utf8) else {
      return nil
    }
    let keys = text.split(whereSeparator: \.isNewline).compactMap { Data(base64Encoded: String($0)) }
    return keys.isEmpty ? nil : SecretBox(secrets: keys.map { SymmetricKey(data: $0) })
  }

  private mutating func read(_ database: Database, _ box: SecretBox) throws {
    func rows(_ kind: RecordKind, _ sql: String) throws -> [StoredRow] {
      try Row.fetchAll(database, sql: sql).map { StoredRow(row: $0, kind: kind, box: box) }
    }
    isPruned = try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM journal_pruning)") ?? false
    for row in try rows(.session, "SELECT * FROM session") {
      if let session = known({ () throws(UnreadableRow) in try TransferSession(row) }) {
        sessions[session.id] = session
      }
    }
    let stored = try rows(.journal, "SELECT * FROM journal ORDER BY first LIMIT \(Self.limit)")
    isWhole = stored.count < Self.limit
    for row in stored {
      if let fragment = known({ () throws(UnreadableRow) in try JournalFragment(row) }) {
        fragments.append(fragment)
      }
    }
    for row in try rows(.task, Query.tasks + " ORDER BY id LIMIT \(Self.limit)") {
      if let task = known({ () throws(UnreadableRow) in try TransferTask(row) }) { tasks[task.id] = task }
    }
    let ended = """
      SELECT DISTINCT task FROM decision
      WHERE state = 'pending' AND task IN (SELECT id FROM task WHERE state = 'completed')
      """
    tasksWithOrphanedDecisions = try Data.fetchAll(database, sql: ended).compactMap {
      TaskID(bytes: Array($0))
    }
  }

  private mutating func known<Value>(_ read: () throws(UnreadableRow) -> Value) -> Value? {
    do throws(UnreadableRow) { return try read() } catch {
      isDamaged = true
      return nil
    }
  }
}
