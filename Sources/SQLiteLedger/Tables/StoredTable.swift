internal import Ledger

/// A table, with its name in the database and in statements.
///
/// This type is the one list of all tables and columns. Migrations never change; a test checks that their result is this list.
package enum StoredTable: String, CaseIterable, Sendable, CustomStringConvertible {
  case session, task, journal, delivery, decision, file, credential, cookie, configuration, idempotency
  case endpoint = "webhook_endpoint"
  /// The queues between service and worker.
  case command, work, news
  /// The labels of tasks, by which lists find the tasks.
  case taskLabel = "task_label"
  /// Groups of tasks.
  case taskGroup = "task_group"
  case sequenceReservation = "sequence_reservation"
  case journalPruning = "journal_pruning"
  case journalPruningByTenant = "journal_pruning_by_tenant"
  case keyCheck = "key_check"
  /// A counter of ownership changes, from which processes get their epochs.
  case owner
  case process, shard
  /// The worker's epoch.
  case worker

  package var description: String { rawValue }

  /// Creates the table with the records of a kind.
  init(_ kind: RecordKind) {
    self =
      switch kind {
      case .session: .session
      case .task: .task
      case .journal: .journal
      case .delivery: .delivery
      case .endpoint: .endpoint
      case .decision: .decision
      case .file: .file
      case .credential: .credential
      case .cookie: .cookie
      case .configuration: .configuration
      case .idempotency: .idempotency
      case .work: .work
      case .group: .taskGroup
      }
  }

  /// The columns that identify a row.
  var key: [StoredColumn] {
    switch self {
    case .session, .task, .delivery, .decision, .file, .endpoint: [.id]
    case .journal: [.first]
    case .credential: [.session, .space]
    case .cookie: [.session, .key]
    case .configuration, .idempotency, .taskGroup: [.tenant, .key]
    case .work: [.task]
    case .taskLabel: [.key, .task]
    case .command, .news: [.number]
    case .journalPruningByTenant: [.tenant]
    case .sequenceReservation, .journalPruning, .keyCheck, .owner, .worker: [.only]
    case .process: [.epoch]
    case .shard: [.byte]
    }
  }

  /// The columns that are stored in clear. A key or a space is a keyed hash (`BlindIndex`).
  private var openColumns: [StoredColumn] {
    switch self {
    case .session: [.id, .created, .state, .type, .tenant, .lastIdentifier]
    case .task:
      [
        .id, .session, .identifier, .kind, .state, .suspendCount, .created, .hasBodyFile, .completed,
        .keptUntil, .keptBytes, .isPruned, .tenant, .groupKey, .result,
        .sent, .received,
      ]
    case .journal: [.first, .last, .tenant, .session, .task, .time]
    case .delivery:
      [
        .id, .session, .task, .type, .created, .state, .attempts, .lastAttempt, .nextAttempt, .lastStatus,
        .finished, .decision, .tenant, .destination, .endpoint, .place, .schedulePlace,
      ]
    case .endpoint: [.id, .tenant, .created]
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
    case .taskLabel: [.key, .task]
    case .taskGroup: [.tenant, .key, .created, .closed, .completed]
    case .sequenceReservation: [.only, .last]
    case .journalPruning: [.only, .through, .time]
    case .journalPruningByTenant: [.tenant, .through]
    case .keyCheck: [.only]
    case .owner, .worker: [.only, .epoch]
    case .process: [.epoch, .address, .retiring]
    case .shard: [.byte, .epoch]
    }
  }

  /// All columns of the table.
  var columns: [StoredColumn] {
    let documents = SealedDocument.allCases.map(\.place) + SealedText.allCases.map(\.place)
    return openColumns + documents.filter { $0.table == self }.map(\.column)
  }
}

/// A column, with its name in the database and in messages. Columns of one name mean the same in all tables.
enum StoredColumn: String, CaseIterable, Sendable {
  case address, answer, arguments, attempts, body, byte, closed, completed, counts, created, decision,
    destination
  case document, endpoint, epoch, expires, fingerprint
  case finished, first, history, id, identifier, key, kind, last, location, metrics, name, number, only,
    outcome
  case payload, place, question, received, result, retiring, sealed, secret, sent, session, sha256, size,
    space
  case specification, state,
    status, stream
  case tags, task, tenant, through, time, type, updated, url
  case answerTag = "answer_tag"
  case contentType = "content_type"
  case defaultAnswer = "default_answer"
  case groupKey = "group_key"
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
  case schedulePlace = "schedule_place"
  case smallBody = "small_body"
  case suspendCount = "suspend_count"
}

/// One column of one table.
struct ColumnReference: Sendable, Equatable {
  let table: StoredTable
  let column: StoredColumn

  init(_ table: StoredTable, _ column: StoredColumn) {
    self.table = table
    self.column = column
  }

  var name: String { "\(table).\(column.rawValue)" }
}
