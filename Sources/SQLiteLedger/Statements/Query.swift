internal import GRDB
internal import Synchronization

/// Every statement that reads, by name. Each connection prepares a statement at its first use and caches it.
enum Query: Int, CaseIterable, Sendable {
  case sessions, session, tenants, tenant
  case task, unfinishedTasks, hasTasks
  case tasksOfSession, tasksOfTenant, unfinishedTasksOfTenant, unsuccessfulTasks, tasksOfGroup, tasksOfLabel
  case newestOfSession, newestOfTenant, newestUnfinished, newestUnsuccessful, newestOfGroup, newestOfLabel
  case group, groupsOfTenant, newestGroups, closedGroups, unfinishedInGroup, groupCounts, tenantCounts,
    sessionsOfGroup
  case staleGroups
  case smallBody, metrics, hasBodyFile, bodyFilesOfSession
  case endedTasks, expiredTasks, keepingTasks, keptBytes
  case decision, decisionsOfSession, newestDecisions, staleDecisions
  case sessionsWithStorage, credentials, cookies
  case file, filesOfTenant, newestFiles
  case configuration, configurationNames, revision
  case reply, hasReply, staleReplies
  case commands, news, lastNews, work
  case pendingDestinations, dueDeliveries, futureDeliveries, laterDeliveries
  case pendingBackgroundDeliveries, hasPendingDelivery
  case delivery, deliveriesOfTenant, deliveriesOfState, deliveriesOfTask
  case deliveriesOfEndpoint, deliveriesOfEndpointAndState
  case newestDeliveriesOfTenant, newestDeliveriesOfState, newestDeliveriesOfTask
  case newestDeliveriesOfEndpoint, newestDeliveriesOfEndpointAndState
  case hasDelivery, staleDeliveries
  case endpoint, endpoints
  case fragmentBeforeOfTenant, fragmentBeforeOfSession, fragmentBeforeOfTask
  case fragmentsOfTenant, fragmentsOfSession, fragmentsOfTask, fragmentsAfter
  case oldestFragment, oldestFragmentOfTenant, oldestEvents, lastSequence
  case pruned, prunedOfTenant, reservation, dataVersion
  case keyCheck, epoch, processes, shards, worker

  var text: String { Self.texts[rawValue] }
  private static let texts = allCases.map(\.made)

  private var made: String {
    switch self {
    case .sessions: "SELECT * FROM session ORDER BY id"
    case .session: "SELECT * FROM session WHERE id = ?"
    case .tenants: "SELECT id, tenant FROM session"
    case .tenant: "SELECT tenant FROM session WHERE id = ?"

    case .task: Self.tasks + " WHERE id = ?"
    case .tasksOfSession: TaskListText.ofSession + " ORDER BY id"
    case .tasksOfTenant: TaskListText.ofTenant + " ORDER BY id"
    case .unfinishedTasksOfTenant: TaskListText.unfinished + " ORDER BY id"
    case .unsuccessfulTasks: TaskListText.unsuccessful + " ORDER BY id"
    case .tasksOfGroup: TaskListText.ofGroup + " ORDER BY id"
    case .tasksOfLabel: TaskListText.ofLabel + " ORDER BY id"
    case .newestOfSession: TaskListText.ofSession + " ORDER BY id DESC"
    case .newestOfTenant: TaskListText.ofTenant + " ORDER BY id DESC"
    case .newestUnfinished: TaskListText.unfinished + " ORDER BY id DESC"
    case .newestUnsuccessful: TaskListText.unsuccessful + " ORDER BY id DESC"
    case .newestOfGroup: TaskListText.ofGroup + " ORDER BY id DESC"
    case .newestOfLabel: TaskListText.ofLabel + " ORDER BY id DESC"
    case .unfinishedTasks:
      Self.tasks + " WHERE state <> 'completed' AND (session, id) > (?, ?) ORDER BY session, id"
    case .hasTasks:
      """
      SELECT EXISTS (SELECT 1 FROM task WHERE \(Self.isOfSession))
        OR EXISTS (SELECT 1 FROM journal WHERE session = ?1)
      """
    case .group: "SELECT * FROM task_group WHERE tenant = ? AND key = ?"
    case .groupsOfTenant:
      """
      SELECT * FROM task_group INDEXED BY task_group_by_age
      WHERE tenant = ?1 AND (created, key) > (?2, ?3) ORDER BY created, key
      """
    case .newestGroups:
      """
      SELECT * FROM task_group INDEXED BY task_group_by_age
      WHERE tenant = ?1 AND (created, key) < (?2, ?3) ORDER BY created DESC, key DESC
      """
    case .closedGroups:
      """
      SELECT * FROM task_group INDEXED BY task_group_closed
      WHERE closed IS NOT NULL AND completed IS NULL ORDER BY tenant, key
      """
    case .groupCounts:
      """
      SELECT state, result, count(*) AS number, coalesce(sum(sent), 0) AS sent, coalesce(sum(received), 0) AS received
      FROM task INDEXED BY task_by_group
      WHERE group_key = ? AND (state <> 'completed' OR sent IS NOT NULL) GROUP BY state, result
      """
    case .tenantCounts:
      """
      SELECT state, NULL AS result, count(*) AS number FROM task INDEXED BY task_unfinished_by_tenant
      WHERE tenant = ? AND state <> 'completed' GROUP BY state
      UNION ALL
      SELECT 'completed', result, count(*) FROM task INDEXED BY task_unsuccessful
      WHERE tenant = ? AND result <> 'succeeded' GROUP BY result
      UNION ALL
      SELECT NULL, NULL, count(*) FROM task INDEXED BY task_by_tenant WHERE tenant = ?
      """
    case .unfinishedInGroup:
      """
      SELECT 1 FROM task INDEXED BY task_unfinished_by_group
      WHERE group_key = ? AND state <> 'completed' LIMIT 1
      """
    case .staleGroups:
      """
      SELECT tenant, key, name, created FROM task_group INDEXED BY task_group_by_end
      WHERE (closed IS NULL OR completed IS NOT NULL) AND coalesce(completed, created) <= ? AND \(Self.hasNoTasks)
      ORDER BY coalesce(completed, created) LIMIT ?
      """
    case .sessionsOfGroup:
      "SELECT DISTINCT session FROM task INDEXED BY task_by_group WHERE group_key = ? ORDER BY session"
    case .smallBody: "SELECT id, small_body FROM task WHERE id = ?"
    case .metrics: "SELECT id, metrics FROM task WHERE id = ?"
    case .hasBodyFile: "SELECT has_body_file FROM task WHERE id = ?"
    case .bodyFilesOfSession: "SELECT id FROM task WHERE \(Self.isOfSession) AND has_body_file"
    case .endedTasks: Self.finishedTasks("completed <= ?", by: "completed")
    case .expiredTasks: Self.finishedTasks("kept_until <= ?", by: "kept_until")
    case .keepingTasks: Self.finishedTasks("completed IS NOT NULL AND kept_bytes > ?", by: "completed")
    case .keptBytes: "SELECT coalesce(sum(kept_bytes), 0) FROM task WHERE completed IS NOT NULL"

    case .decision: "SELECT * FROM decision WHERE id = ?"
    case .decisionsOfSession:
      "SELECT * FROM decision WHERE session = ?1 AND id > ?2 AND (?3 IS NULL OR state = ?3) ORDER BY id"
    case .newestDecisions:
      "SELECT * FROM decision WHERE session = ?1 AND id < ?2 AND (?3 IS NULL OR state = ?3) ORDER BY id DESC"
    case .staleDecisions:
      """
      SELECT id FROM decision
      WHERE id < ? AND state <> 'pending' AND \(Self.isNotHeld("decision.task")) ORDER BY id LIMIT ?
      """

    case .sessionsWithStorage:
      "\(Self.sessions(with: "cookie")) UNION \(Self.sessions(with: "credential")) ORDER BY session"
    case .credentials: "SELECT session, space, sealed FROM credential WHERE session = ?"
    case .cookies: "SELECT session, key, sealed FROM cookie WHERE session = ? ORDER BY rowid"
    case .file: "SELECT * FROM file WHERE id = ?"
    case .filesOfTenant: "SELECT * FROM file WHERE tenant = ? AND id > ? ORDER BY id"
    case .newestFiles: "SELECT * FROM file WHERE tenant = ? AND id < ? ORDER BY id DESC"
    case .configuration: "SELECT * FROM configuration WHERE tenant = ? AND key = ?"
    case .configurationNames: "SELECT tenant, key, name, created FROM configuration WHERE tenant = ?"
    case .revision: "SELECT updated FROM configuration WHERE tenant = ? AND key = ?"
    case .hasReply: "SELECT EXISTS (SELECT 1 FROM idempotency WHERE tenant = ? AND key = ? AND created > ?)"
    case .reply: "SELECT * FROM idempotency WHERE tenant = ? AND key = ?"
    case .staleReplies:
      "SELECT tenant, key, name, created FROM idempotency WHERE created <= ? ORDER BY created LIMIT ?"

    case .commands: "SELECT number, session, sealed FROM command WHERE number > ? ORDER BY number LIMIT ?"
    case .news: "SELECT number, sealed FROM news WHERE number > ? ORDER BY number LIMIT ?"
    case .lastNews: "SELECT max(number) FROM news"
    case .work: "SELECT task, session, sealed FROM work WHERE task > ? ORDER BY task"

    case .pendingDestinations:
      """
      WITH RECURSIVE found (destination) AS (
        SELECT min(destination) FROM delivery INDEXED BY delivery_due WHERE \(Self.isReady) AND destination > ?1
        UNION ALL
        SELECT (
          SELECT min(destination) FROM delivery INDEXED BY delivery_due
          WHERE \(Self.isReady) AND destination > found.destination
        ) FROM found WHERE found.destination IS NOT NULL
      )
      SELECT found.destination, tenant, next_attempt FROM found JOIN delivery ON delivery.rowid = (
        SELECT rowid FROM delivery INDEXED BY delivery_due
        WHERE \(Self.isReady) AND destination = found.destination ORDER BY next_attempt LIMIT 1
      ) WHERE found.destination IS NOT NULL LIMIT ?2
      """
    case .dueDeliveries: Self.ready("*", "next_attempt <= ?2")
    case .futureDeliveries: Self.ready("*", "next_attempt > ?2 AND last_attempt > ?4")
    case .laterDeliveries: Self.ready("id, next_attempt", "next_attempt > ?2")
    case .pendingBackgroundDeliveries:
      """
      SELECT delivery.* FROM delivery JOIN session ON session.id = delivery.session
      WHERE delivery.state = 'pending' AND session.type = 'background'
      """
    case .delivery: "SELECT * FROM delivery WHERE id = ?"
    case .deliveriesOfTenant: Self.deliveries(by: "tenant")
    case .deliveriesOfState: Self.deliveries(by: "state")
    case .deliveriesOfEndpoint: Self.deliveries(by: "endpoint")
    case .deliveriesOfEndpointAndState: Self.deliveries(by: "endpoint_and_state")
    case .deliveriesOfTask: Self.deliveries(by: "task")
    case .newestDeliveriesOfTenant: Self.deliveries(by: "tenant", isNewestFirst: true)
    case .newestDeliveriesOfState: Self.deliveries(by: "state", isNewestFirst: true)
    case .newestDeliveriesOfEndpoint: Self.deliveries(by: "endpoint", isNewestFirst: true)
    case .newestDeliveriesOfEndpointAndState: Self.deliveries(by: "endpoint_and_state", isNewestFirst: true)
    case .newestDeliveriesOfTask: Self.deliveries(by: "task", isNewestFirst: true)
    case .hasDelivery: "SELECT 1 FROM delivery WHERE id = ? AND state = ? AND attempts = ?"
    case .endpoint: "SELECT * FROM webhook_endpoint WHERE id = ?"
    case .endpoints: "SELECT * FROM webhook_endpoint ORDER BY id"
    case .hasPendingDelivery: "SELECT 1 FROM delivery WHERE task = ? AND state = 'pending'"
    case .staleDeliveries: "SELECT id FROM delivery WHERE finished <= ? ORDER BY finished LIMIT ?"

    case .fragmentBeforeOfTenant: Self.fragmentBefore(.tenant)
    case .fragmentBeforeOfSession: Self.fragmentBefore(.session)
    case .fragmentBeforeOfTask: Self.fragmentBefore(.task)
    case .fragmentsOfTenant: Self.fragments(.tenant)
    case .fragmentsOfSession: Self.fragments(.session)
    case .fragmentsOfTask: Self.fragments(.task)
    case .fragmentsAfter: Self.journal + " WHERE first > ? ORDER BY first LIMIT ?"
    case .oldestFragment: "SELECT min(first) FROM journal"
    case .oldestFragmentOfTenant:
      "SELECT min(first) FROM journal INDEXED BY journal_by_tenant WHERE tenant = ?"
    case .oldestEvents:
      "SELECT last, time, NOT (\(Self.isNotHeld("journal.task"))) AS held FROM journal ORDER BY first LIMIT ?"
    case .lastSequence: Self.last
    case .pruned: "SELECT through, time FROM journal_pruning"
    case .prunedOfTenant: "SELECT through FROM journal_pruning_by_tenant WHERE tenant = ?"
    case .reservation: Self.reserved
    case .dataVersion: "PRAGMA data_version"
    case .keyCheck: "SELECT sealed FROM key_check"
    case .epoch: "SELECT epoch FROM owner"
    case .processes: "SELECT epoch, address, retiring FROM process"
    case .shards: "SELECT byte, epoch FROM shard"
    case .worker: "SELECT epoch FROM worker"
    }
  }

  /// Returns the columns of the statement's rows, in order; `nil` for an expression.
  func columns(of statement: GRDB.Statement) -> [StoredColumn?] {
    Self.columns.withLock { known in
      if let columns = known[rawValue] { return columns }
      let columns = statement.columnNames.map { StoredColumn(rawValue: $0) }
      known[rawValue] = columns
      return columns
    }
  }
  /// The columns by query. GRDB looks up a column by its lower-case name, which costs more than reading most values.
  private static let columns = Mutex([[StoredColumn?]?](repeating: nil, count: allCases.count))

  // MARK: Shared clauses

  /// The columns from which a task is read.
  private static let taskColumns = """
    id, session, identifier, kind, state, suspend_count, created, specification, request_body, outcome, is_pruned
    """
  static let tasks = "SELECT \(taskColumns) FROM task"

  /// A condition that uses both indices of a session's tasks: one for ended tasks, one for the others.
  static let isOfSession = "(session = ?1 AND state = 'completed' OR session = ?1 AND state <> 'completed')"

  private static let journal = "SELECT first, last, tenant, session, task, time, stream, tags FROM journal"
  static let last = "SELECT last FROM journal ORDER BY first DESC LIMIT 1"
  static let reserved = "SELECT last FROM sequence_reservation"

  private static func finishedTasks(_ condition: String, by order: String) -> String {
    """
    SELECT \(taskColumns), completed, kept_until, kept_bytes FROM task
    WHERE \(condition) AND \(isNotHeld("task.id")) AND \(isNobodyWoken) ORDER BY \(order)
    """
  }

  /// Returns the condition that the row's session belongs to the process with this epoch. It is true for every row if the epoch is NULL.
  private static func isOwn(_ epoch: String) -> String {
    "(\(epoch) IS NULL OR substr(session, 16, 1) IN (SELECT byte FROM shard WHERE shard.epoch = \(epoch)))"
  }

  /// The condition that a delivery is pending and waits for no earlier one.
  private static let isReady = "state = 'pending' AND place <> 2"

  /// Returns the query for deliveries to a destination that wait for no earlier ones.
  private static func ready(_ columns: String, _ condition: String) -> String {
    """
    SELECT \(columns) FROM delivery INDEXED BY delivery_due
    WHERE \(isReady) AND destination = ?1 AND \(condition) AND \(isOwn("?3")) ORDER BY next_attempt, rowid
    """
  }

  /// Returns the query for a page of a tenant's deliveries between two ids. SQLite's own choice of an index would at times scan the whole
  /// table. Every condition of a tenant, an endpoint or a state is in the index, so that only rows of the page are read.
  private static func deliveries(by index: String, isNewestFirst: Bool = false) -> String {
    let scope =
      switch index {
      case "endpoint": "endpoint = ?4 AND ?5 IS NULL AND ?6 IS NULL AND"
      case "endpoint_and_state": "endpoint = ?4 AND state = ?6 AND ?5 IS NULL AND"
      case "state": "state = ?6 AND ?4 IS NULL AND ?5 IS NULL AND"
      case "task": "task = ?5 AND (?4 IS NULL OR endpoint = ?4) AND (?6 IS NULL OR state = ?6) AND"
      default: "?4 IS NULL AND ?5 IS NULL AND ?6 IS NULL AND"
      }
    return """
      SELECT * FROM delivery INDEXED BY delivery_by_\(index)
      WHERE \(scope) tenant = ?1 AND id BETWEEN ?2 AND ?3 AND (?7 IS NULL OR created >= ?7)
      ORDER BY id\(isNewestFirst ? " DESC" : "")
      """
  }

  /// The condition that a group has no tasks.
  static let hasNoTasks =
    "NOT EXISTS (SELECT 1 FROM task INDEXED BY task_by_group WHERE group_key = task_group.key)"

  /// Returns the condition that no delivery for the task is pending.
  private static func isNotHeld(_ task: String) -> String {
    "NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.task = \(task) AND delivery.state = 'pending')"
  }

  /// The condition that no `session.handleEvents` delivery, which wakes the client, is pending for the task's session.
  private static let isNobodyWoken = """
    NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.task IS NULL AND delivery.state = 'pending'
      AND delivery.session = task.session AND delivery.type = 'session.handleEvents')
    """

  /// The owner of journal fragments: a column that has an index. SQLite's own choice of an index would at times scan the whole journal.
  private enum Scope: String { case tenant, session, task }

  /// Returns the query for the sessions that have rows in a table. It finds each session by the index, because a session may have thousands
  /// of rows.
  private static func sessions(with table: String) -> String {
    """
    SELECT session FROM (
      WITH RECURSIVE found (session) AS (
        SELECT min(session) FROM \(table)
        UNION ALL
        SELECT (SELECT min(session) FROM \(table) WHERE session > found.session) FROM found
        WHERE found.session IS NOT NULL
      )
      SELECT session FROM found WHERE session IS NOT NULL
    )
    """
  }

  private static func fragmentBefore(_ scope: Scope) -> String {
    """
    SELECT first FROM journal INDEXED BY journal_by_\(scope.rawValue)
    WHERE \(scope.rawValue) = :scope AND first <= :after ORDER BY first DESC LIMIT 1
    """
  }

  private static func fragments(_ scope: Scope) -> String {
    """
    \(journal) INDEXED BY journal_by_\(scope.rawValue)
    WHERE \(scope.rawValue) = :scope AND first >= :start AND last > :after ORDER BY first
    """
  }
}

extension Database {
  /// Returns the statement, prepared on this connection. A caller must finish stepping through the rows before the next call for the query.
  func prepared(_ query: Query) throws -> GRDB.Statement { try cachedStatement(sql: query.text) }
}
