internal import Ledger

/// A table, by its name in the database and in statements.
///
/// What a table has is said here once. The migrations are what made it so, and are never changed: that they come to what stands
/// here, a test sees to.
package enum StoredTable: String, CaseIterable, Sendable, CustomStringConvertible {
  case session, task, journal, delivery, decision, file, credential, cookie, configuration, idempotency
  /// What the two processes have for each other.
  case command, work, news
  case sequenceReservation = "sequence_reservation"
  case journalPruning = "journal_pruning"
  case journalPruningByTenant = "journal_pruning_by_tenant"
  case keyCheck = "key_check"
  /// How often that has changed: who takes part, and who owns what.
  case owner
  case process, shard
  /// Of the process that carries background tasks out.
  case worker

  package var description: String { rawValue }

  /// The table that has the records of a kind.
  init(_ kind: RecordKind) {
    self =
      switch kind {
      case .session: .session
      case .task: .task
      case .journal: .journal
      case .delivery: .delivery
      case .decision: .decision
      case .file: .file
      case .credential: .credential
      case .cookie: .cookie
      case .configuration: .configuration
      case .idempotency: .idempotency
      case .work: .work
      }
  }

  /// The columns that name a row.
  var key: [StoredColumn] {
    switch self {
    case .session, .task, .delivery, .decision, .file: [.id]
    case .journal: [.first]
    case .credential: [.session, .space]
    case .cookie: [.session, .key]
    case .configuration, .idempotency: [.tenant, .key]
    case .work: [.task]
    case .command, .news: [.number]
    case .journalPruningByTenant: [.tenant]
    case .sequenceReservation, .journalPruning, .keyCheck, .owner, .worker: [.only]
    case .process: [.epoch]
    case .shard: [.byte]
    }
  }

  /// The columns that stand there as they are. A key or a space is a keyed hash of what it names (`RowNames`).
  private var openColumns: [StoredColumn] {
    switch self {
    case .session: [.id, .created, .state, .type, .tenant, .lastIdentifier]
    case .task:
      [
        .id, .session, .identifier, .kind, .state, .suspendCount, .created, .hasBodyFile, .completed,
        .keptUntil, .keptBytes, .isPruned,
      ]
    case .journal: [.first, .last, .tenant, .session, .task, .time]
    case .delivery:
      [
        .id, .session, .task, .type, .created, .state, .attempts, .lastAttempt, .nextAttempt, .lastStatus,
        .finished, .decision,
      ]
    case .decision:
      [
        .id, .session, .task, .type, .state, .created, .expires, .defaultAnswer, .answerTag, .question,
      ]
    case .file: [.id, .tenant, .created, .size, .sha256, .task]
    case .credential: [.session, .space]
    case .cookie: [.session, .key]
    case .configuration: [.tenant, .key, .created, .updated]
    case .idempotency:
      [.tenant, .key, .fingerprint, .status, .contentType, .created, .session]
    case .command: [.number, .session]
    case .work: [.task, .session]
    case .news: [.number]
    case .sequenceReservation: [.only, .last]
    case .journalPruning: [.only, .through, .time]
    case .journalPruningByTenant: [.tenant, .through]
    case .keyCheck: [.only]
    case .owner, .worker: [.only, .epoch]
    case .process: [.epoch, .address, .retiring]
    case .shard: [.byte, .epoch]
    }
  }

  /// All that its rows have.
  var columns: [StoredColumn] {
    let documents = SealedDocument.allCases.map(\.place) + SealedText.allCases.map(\.place)
    return openColumns + documents.filter { $0.table == self }.map(\.column)
  }
}

/// What rows have, by its name in the database and in messages. Columns of one name mean the same in all tables.
enum StoredColumn: String, CaseIterable, Sendable {
  case address, answer, arguments, attempts, body, byte, completed, created, decision, document, epoch,
    expires, fingerprint
  case finished, first, id, identifier, key, kind, last, location, metrics, name, number, only, outcome
  case payload, question, retiring, sealed, secret, session, sha256, size, space, specification, state,
    status, stream
  case task, tenant, through, time, type, updated, url
  case answerTag = "answer_tag"
  case contentType = "content_type"
  case defaultAnswer = "default_answer"
  case hasBodyFile = "has_body_file"
  case isPruned = "is_pruned"
  case keptBytes = "kept_bytes"
  case keptUntil = "kept_until"
  case lastAttempt = "last_attempt"
  case lastError = "last_error"
  case lastIdentifier = "last_identifier"
  case lastStatus = "last_status"
  case nextAttempt = "next_attempt"
  case requestBody = "request_body"
  case smallBody = "small_body"
  case suspendCount = "suspend_count"
}

/// One column of one table.
struct ColumnPlace: Sendable, Equatable {
  let table: StoredTable
  let column: StoredColumn

  init(_ table: StoredTable, _ column: StoredColumn) {
    self.table = table
    self.column = column
  }

  var name: String { "\(table).\(column.rawValue)" }
}
