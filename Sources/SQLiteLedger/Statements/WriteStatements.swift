internal import Ledger
internal import TransferModel

/// Every statement that writes, by table and name. A connection prepares all of them once.
struct WriteStatements {
  typealias Prepare = (String) throws -> WriteStatement

  let begin, commit, rollback: WriteStatement
  let sessions: OfSessions
  let tasks: OfTasks
  let journal: OfJournal
  let deliveries: OfDeliveries
  let decisions: OfDecisions
  let belongings: OfSessionData
  let replies: OfReplies
  let processes: OfProcessQueues
  private let all: [WriteStatement]

  init(_ connection: OpaquePointer) throws { try self.init { try WriteStatement(connection, $0) } }

  init(preparing: Prepare) throws {
    var all: [WriteStatement] = []
    func prepare(_ text: String) throws -> WriteStatement {
      let statement = try preparing(text)
      all.append(statement)
      return statement
    }
    begin = try prepare("BEGIN IMMEDIATE")
    commit = try prepare("COMMIT")
    rollback = try prepare("ROLLBACK")
    sessions = try OfSessions(prepare)
    tasks = try OfTasks(prepare)
    journal = try OfJournal(prepare)
    deliveries = try OfDeliveries(prepare)
    decisions = try OfDecisions(prepare)
    belongings = try OfSessionData(prepare)
    replies = try OfReplies(prepare)
    processes = try OfProcessQueues(prepare)
    self.all = all
  }

  func finalize() { for statement in all { statement.finalize() } }

  /// The statements that delete some rows of each table that grows with a session's tasks. Referring rows precede the rows they refer to.
  var thinning: [WriteStatement] {
    [
      journal.thin, decisions.thin, deliveries.thin, processes.thinCommands, processes.thinWork, tasks.thin,
    ]
  }

  /// The statements that delete all rows of a session.
  var deletion: [WriteStatement] {
    [
      journal.deleteOfSession, decisions.deleteOfSession, belongings.deleteCredentials,
      belongings.deleteCookies, deliveries.deleteOfSession, processes.deleteCommandsOfSession,
      processes.deleteWorkOfSession, tasks.deleteOfSession, sessions.delete,
    ]
  }
}

extension StoredTable {
  /// Returns the statement that inserts a row with a value for each column, in this order.
  /// - Parameter rest: the SQL clause for a row that exists already.
  func insert(_ columns: [StoredColumn], orReplace: Bool = false, else rest: String = "") -> String {
    let names = columns.map(\.rawValue).joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    return "INSERT \(orReplace ? "OR REPLACE " : "")INTO \(self) (\(names)) VALUES (\(marks))\(rest)"
  }

  /// Returns the statement that deletes the rows whose columns have given values.
  fileprivate func delete(by columns: StoredColumn..., and condition: String? = nil) -> String {
    let conditions = columns.map { "\($0.rawValue) = ?" } + [condition].compactMap { $0 }
    return "DELETE FROM \(self) WHERE \(conditions.joined(separator: " AND "))"
  }

  /// Returns the statement that deletes some of a session's rows.
  fileprivate func thin(_ isOfSession: String = "session = ?", and condition: String? = nil) -> String {
    let name = key[0].rawValue
    let rest = condition.map { " AND \($0)" } ?? ""
    return """
      DELETE FROM \(self) WHERE \(name) IN
        (SELECT \(name) FROM \(self) WHERE \(isOfSession)\(rest) LIMIT \(LedgerChange.thinningSlice))
      """
  }
}

private let isSettled = "state <> 'pending'"
/// The condition that the owner of a shard does not take part.
private let isNobodys = "shard.epoch NOT IN (SELECT process.epoch FROM process)"

extension WriteStatements {
  struct OfSessions {
    let keep, setLastIdentifier, delete: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      keep = try prepare(
        RowMapping.session.insertion(
          else: " ON CONFLICT (id) DO UPDATE SET state = excluded.state, document = excluded.document"))
      setLastIdentifier = try prepare(
        "UPDATE session SET last_identifier = max(last_identifier, ?) WHERE id = ?")
      delete = try prepare(StoredTable.session.delete(by: .id))
    }
  }

  struct OfTasks {
    let keepGroup, closeGroup, completeGroup, pruneGroup: WriteStatement
    let insert, insertLabel, update, respecify, wipe, prune, forgetBody, thin, deleteOfSession: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      insert = try prepare(
        RowMapping.createdTask.insertion())
      keepGroup = try prepare(RowMapping.group.insertion(else: " ON CONFLICT (tenant, key) DO NOTHING"))
      closeGroup = try prepare(
        "UPDATE task_group SET closed = coalesce(closed, ?) WHERE tenant = ? AND key = ?")
      completeGroup = try prepare(RowMapping.completedGroup.update(byLast: 2))
      pruneGroup = try prepare(
        StoredTable.taskGroup.delete(
          by: .tenant, .key, and: "(closed IS NULL OR completed IS NOT NULL) AND \(Query.hasNoTasks)"))
      insertLabel = try prepare(StoredTable.taskLabel.insert([.key, .task]))
      update = try prepare(RowMapping.updatedTask.update())
      respecify = try prepare(RowMapping.respecifiedTask.update())
      wipe = try prepare(
        "UPDATE task SET small_body = NULL, has_body_file = 0, request_body = NULL WHERE \(Query.isOfSession)"
      )
      prune = try prepare(StoredTable.task.delete(by: .id, and: "state = 'completed'"))
      // Pruning sets a column of its own and does not rewrite the document.
      forgetBody = try prepare(
        """
        UPDATE task SET small_body = NULL, has_body_file = 0, kept_until = NULL, kept_bytes = NULL, is_pruned = 1
        WHERE id = ? AND state = 'completed'
        """)
      thin = try prepare(StoredTable.task.thin(Query.isOfSession))
      deleteOfSession = try prepare("DELETE FROM task WHERE \(Query.isOfSession)")
    }
  }

  struct OfJournal {
    let insert, reserve, reserveWritten, prune, markTenants, mark, thin, deleteOfSession: WriteStatement
    let deleteOfTask: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      insert = try prepare(
        RowMapping.fragment.insertion())
      reserve = try prepare(StoredTable.sequenceReservation.insert([.only, .last], orReplace: true))
      // Numbers of deleted events are not assigned again.
      reserveWritten = try prepare(
        """
        INSERT OR REPLACE INTO sequence_reservation (only, last)
        SELECT 1, max(coalesce((\(Query.reservation.text)), 0), coalesce((\(Query.lastSequence.text)), 0))
        """)
      prune = try prepare("DELETE FROM journal WHERE first <= ?")
      // NOT INDEXED: the scan covers only the rows to be pruned. The index of the tenants would be read from end to end.
      markTenants = try prepare(
        """
        INSERT INTO journal_pruning_by_tenant (tenant, through)
        SELECT tenant, max(last) FROM journal NOT INDEXED WHERE first <= ? AND tenant IS NOT NULL GROUP BY tenant
        ON CONFLICT (tenant) DO UPDATE SET through = max(through, excluded.through)
        """)
      mark = try prepare(
        StoredTable.journalPruning.insert(
          [.only, .through, .time],
          else: """
             ON CONFLICT (only)
            DO UPDATE SET through = max(through, excluded.through), time = max(time, excluded.time)
            """))
      thin = try prepare(StoredTable.journal.thin())
      deleteOfSession = try prepare(StoredTable.journal.delete(by: .session))
      deleteOfTask = try prepare(StoredTable.journal.delete(by: .task))
    }
  }

  struct OfDeliveries {
    let insert, queue, promote, update, prune, thin, deleteOfSession: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      insert = try prepare(
        RowMapping.newDelivery.insertion())
      queue = try prepare(
        """
        UPDATE delivery SET place = 2 WHERE id = ?1 AND EXISTS (
          SELECT 1 FROM delivery AS earlier INDEXED BY delivery_pending_by_task
          WHERE earlier.task = ?2 AND earlier.destination = ?3 AND earlier.state = 'pending' AND earlier.place <> 0
            AND earlier.id <> ?1
        )
        """)
      promote = try prepare(
        """
        UPDATE delivery SET place = 3, next_attempt = min(next_attempt, ?2) WHERE place = 2 AND rowid = (
          SELECT min(other.rowid) FROM delivery AS own
          JOIN delivery AS other INDEXED BY delivery_pending_by_task
            ON other.task = own.task AND other.destination = own.destination
          WHERE own.id = ?1 AND other.state = 'pending' AND other.place <> 0
        )
        """)
      update = try prepare(RowMapping.updatedDelivery.update())
      prune = try prepare(StoredTable.delivery.delete(by: .id, and: isSettled))
      thin = try prepare(StoredTable.delivery.thin(and: isSettled))
      deleteOfSession = try prepare(StoredTable.delivery.delete(by: .session, and: isSettled))
    }
  }

  struct OfDecisions {
    let insert, update, withdraw, prune, thin, deleteOfSession, deleteOfTask: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      insert = try prepare(
        RowMapping.newDecision.insertion())
      update = try prepare(RowMapping.settledDecision.update())
      withdraw = try prepare(
        """
        UPDATE decision SET state = 'withdrawn' WHERE state = 'pending'
          AND session NOT IN (SELECT id FROM session WHERE type = 'background')
          AND substr(session, 16, 1) IN (SELECT byte FROM shard WHERE \(isNobodys))
        """)
      prune = try prepare(StoredTable.decision.delete(by: .id, and: isSettled))
      thin = try prepare(StoredTable.decision.thin())
      deleteOfSession = try prepare(StoredTable.decision.delete(by: .session))
      deleteOfTask = try prepare(StoredTable.decision.delete(by: .task))
    }
  }

  /// The statements for the session data besides tasks, and for the files and configurations of tenants.
  struct OfSessionData {
    let insertFile, deleteFile, keepCredential, deleteCredential, deleteCredentials: WriteStatement
    let keepEndpoint, deleteEndpoint: WriteStatement
    let keepCookie, deleteCookie, deleteCookies, keepConfiguration, deleteConfiguration: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      insertFile = try prepare(
        RowMapping.file.insertion())
      deleteFile = try prepare(StoredTable.file.delete(by: .id))
      keepEndpoint = try prepare(
        RowMapping.endpoint.insertion(else: " ON CONFLICT (id) DO UPDATE SET document = excluded.document"))
      deleteEndpoint = try prepare(StoredTable.endpoint.delete(by: .id))
      keepCredential = try prepare(
        RowMapping.credential.insertion(orReplace: true))
      deleteCredential = try prepare(StoredTable.credential.delete(by: .session, .space))
      deleteCredentials = try prepare(StoredTable.credential.delete(by: .session))
      // An updated cookie keeps its row, and with it the order in which cookies are sent.
      keepCookie = try prepare(
        RowMapping.cookie.insertion(
          else: " ON CONFLICT (session, key) DO UPDATE SET sealed = excluded.sealed"))
      deleteCookie = try prepare(StoredTable.cookie.delete(by: .session, .key))
      deleteCookies = try prepare(StoredTable.cookie.delete(by: .session))
      keepConfiguration = try prepare(
        RowMapping.configuration.insertion(
          else: """
             ON CONFLICT (tenant, key)
            DO UPDATE SET document = excluded.document, updated = excluded.updated
            """))
      deleteConfiguration = try prepare(StoredTable.configuration.delete(by: .tenant, .key))
    }
  }

  struct OfReplies {
    let keep, expire, wipe, prune: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      keep = try prepare(
        RowMapping.reply.insertion(orReplace: true))
      expire = try prepare("DELETE FROM idempotency WHERE created < ?")
      wipe = try prepare(StoredTable.idempotency.delete(by: .session))
      prune = try prepare(StoredTable.idempotency.delete(by: .tenant, .key, .created))
    }
  }

  /// The statements for the queues between service and worker, and for ownership.
  struct OfProcessQueues {
    let insertCommand, deleteCommands, thinCommands, deleteCommandsOfSession: WriteStatement
    let keepWork, deleteWork, thinWork, deleteWorkOfSession: WriteStatement
    let insertNews, deleteNews: WriteStatement
    let enter, retire, leave, takeShards, giveShard, takeWork, countChange: WriteStatement

    fileprivate init(_ prepare: Prepare) throws {
      insertCommand = try prepare(StoredTable.command.insert([.session, .sealed]))
      deleteCommands = try prepare("DELETE FROM command WHERE number BETWEEN ? AND ?")
      thinCommands = try prepare(StoredTable.command.thin())
      deleteCommandsOfSession = try prepare(StoredTable.command.delete(by: .session))
      keepWork = try prepare(StoredTable.work.insert([.task, .session, .sealed], orReplace: true))
      deleteWork = try prepare(StoredTable.work.delete(by: .task))
      thinWork = try prepare(StoredTable.work.thin())
      deleteWorkOfSession = try prepare(StoredTable.work.delete(by: .session))
      enter = try prepare(StoredTable.process.insert([.epoch, .address]))
      retire = try prepare("UPDATE process SET retiring = ? WHERE epoch = ?")
      leave = try prepare(StoredTable.process.delete(by: .epoch))
      takeShards = try prepare("UPDATE shard SET epoch = ? WHERE \(isNobodys)")
      giveShard = try prepare("UPDATE shard SET epoch = ? WHERE byte = ?")
      takeWork = try prepare(StoredTable.worker.insert([.only, .epoch], orReplace: true))
      countChange = try prepare(StoredTable.owner.insert([.only, .epoch], orReplace: true))
      insertNews = try prepare(StoredTable.news.insert([.sealed]))
      deleteNews = try prepare("DELETE FROM news WHERE number BETWEEN ? AND ?")
    }
  }
}
