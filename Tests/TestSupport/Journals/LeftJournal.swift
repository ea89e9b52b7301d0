import Crypto
import Foundation
import GRDB
import Ledger
import Records
import TransferModel

@testable import SQLiteLedger

/// What a service has left in its database. It is read from a copy: the directory stays as it is.
struct LeftJournal {
  /// Rows of the journal that are read, from the first on. What is told up there is the beginning of every story.
  private static let limit = 2000

  private(set) var sessions: [SessionID: TransferSession] = [:]
  private(set) var tasks: [TaskID: TransferTask] = [:]
  private(set) var fragments: [JournalFragment] = []
  /// Ended tasks of whose questions one still waits.
  private(set) var askedInVain: [TaskID] = []
  /// The journal has no row but those.
  private(set) var isWhole = true
  /// The beginning of the journal is gone, as it was old.
  private(set) var isPruned = false
  /// A row cannot be read, as tests bring about: of what it told nothing is known.
  private(set) var isDamaged = false

  /// Nil where there is no database, or none that SQLite and the directory's own keys can open.
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
      // Nobody needs the copy after this.
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
    askedInVain = try Data.fetchAll(database, sql: ended).compactMap { TaskID(bytes: Array($0)) }
  }

  private mutating func known<Value>(_ read: () throws(UnreadableRow) -> Value) -> Value? {
    do throws(UnreadableRow) { return try read() } catch {
      isDamaged = true
      return nil
    }
  }
}
