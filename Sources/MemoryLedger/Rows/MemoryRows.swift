internal import HTTPCookies
package import Ledger
internal import Records
package import TransferModel

/// All rows of a ledger in memory. A plain value: a copy is a snapshot.
package struct MemoryRows: Sendable {
  package struct SessionRow: Sendable {
    package let session: TransferSession
    package var lastIdentifier: Int
    package let memorySize: Int
  }
  package struct TaskRow: Sendable {
    var task: TransferTask
    var metrics: TaskMetrics?
    var smallBody: [UInt8]?
    var hasBodyFile = false
    /// The time of the task's end; `nil` before it.
    var completedAt: Timestamp?
    var keptUntil: Timestamp?
    var keptBytes: Int64?
    /// Whether the body was pruned. A later change of the task does not restore it.
    var isPruned = false
    /// Whether the task has not changed since its creation.
    var isUntouched = true
  }
  struct ReplyRow: Sendable {
    var reply: IdempotentReply
    var session: SessionID?
  }
  struct CookieRow: Sendable {
    let session: SessionID
    var cookie: Cookie
  }
  struct CookieName: Sendable, Hashable {
    let session: SessionID
    let key: CookieKey
  }
  struct CredentialName: Sendable, Comparable {
    let session: SessionID
    let space: String

    static func < (left: Self, right: Self) -> Bool {
      guard left.session == right.session else { return left.session < right.session }
      return left.space.utf8.lexicographicallyPrecedes(right.space.utf8)
    }
  }
  /// A configuration's key. The configurations of a tenant are adjacent.
  struct ConfigurationSortKey: Sendable, Comparable {
    let name: ConfigurationName

    static func < (left: Self, right: Self) -> Bool {
      guard left.name.tenant == right.name.tenant else {
        return left.name.tenant.name.utf8.lexicographicallyPrecedes(right.name.tenant.name.utf8)
      }
      return left.name.text.utf8.lexicographicallyPrecedes(right.name.text.utf8)
    }
  }
  /// A task, ordered by one of its times.
  struct TaskByTime: Sendable, Comparable {
    let time: Timestamp
    let task: TaskID

    static func < (left: Self, right: Self) -> Bool { (left.time, left.task) < (right.time, right.task) }
  }
  /// A reply's key, ordered by the time of the reply.
  struct ReplyByTime: Sendable, Comparable {
    let time: Timestamp
    let key: IdempotencyKey

    static func < (left: Self, right: Self) -> Bool {
      if left.time != right.time { return left.time < right.time }
      if left.key.tenant != right.key.tenant {
        return left.key.tenant.name.precedesInBytes(right.key.tenant.name)
      }
      return left.key.text.precedesInBytes(right.key.text)
    }
  }
  /// The kind and id of an unreadable row.
  package struct RowName: Sendable, Hashable {
    let kind: RecordKind
    let id: String

    package init(kind: RecordKind, id: String) {
      self.kind = kind
      self.id = id
    }
  }

  package var sessions = SortedTable<SessionID, SessionRow>()
  var tasks = SortedTable<TaskID, TaskRow>()
  /// The groups of tasks. Ephemeral sessions have none.
  var groups: [TaskGroupKey: TaskGroup] = [:]
  var tasksOfGroup = SortedGroups<TaskGroupKey, TaskID>()
  var tasksOfSession = SortedGroups<SessionID, TaskID>()
  /// The unfinished tasks, ordered by id.
  var unfinished = SortedKeys<TaskID>()
  /// Finished tasks by the time of their end, and by the time when their data expires.
  var ended = SortedKeys<TaskByTime>()
  var kept = SortedKeys<TaskByTime>()
  /// The fragments of the journal, by their first numbers.
  package var journal = SortedTable<Int64, JournalFragment>()
  var journalOfTenant = SortedGroups<Tenant, Int64>()
  var journalOfSession = SortedGroups<SessionID, Int64>()
  var journalOfTask = SortedGroups<TaskID, Int64>()
  var pruned = PrunedEvents.none
  /// The last pruned event number of each tenant.
  var prunedOfTenant: [Tenant: Int64] = [:]
  /// All numbers up to this one are reserved.
  package var reservedSequence: Int64 = 0
  var deliveries = DeliveryTable()
  var endpoints = SortedTable<EndpointID, WebhookEndpoint>()
  package var decisions = SortedTable<DecisionID, Decision>()
  var decisionsOfSession = SortedGroups<SessionID, DecisionID>()
  var decisionsOfTask = SortedGroups<TaskID, DecisionID>()
  var credentials = SortedTable<CredentialName, StoredCredential>()
  /// The cookies in the order in which they were first set.
  var cookies = SortedTable<Int, CookieRow>()
  var cookiePlaces: [CookieName: Int] = [:]
  var nextCookie = 0
  var configurations = SortedTable<ConfigurationSortKey, NamedConfiguration>()
  var files = SortedTable<FileID, StoredFile>()
  var replies: [IdempotencyKey: ReplyRow] = [:]
  var repliesByTime = SortedTable<ReplyByTime, ReplySize>()
  var repliesOfSession: [SessionID: Set<IdempotencyKey>] = [:]
  var commands = SortedTable<Int64, StoredCommand>()
  var lastCommand: Int64 = 0
  var work = SortedTable<TaskID, StoredWork>()
  var news = SortedTable<Int64, StoredNews>()
  var lastNews: Int64 = 0
  package var damage: [RowName: UnreadableRow] = [:]
  package var ownership = OwnershipTable()
  /// The newest epoch that was assigned.
  package var lastEpoch: Epoch = 0
  /// The number of changes so far.
  package var version = 0

  package init() {}

  package func isDamaged(_ fragment: JournalFragment) -> Bool {
    !damage.isEmpty && damage[RowName(kind: .journal, id: "\(fragment.first)")] != nil
  }

  /// The highest number that an event has or had.
  package var lastSequence: Int64 { max(journal.last?.row.last ?? 0, pruned.through) }

  /// The approximate size in bytes of the rows of ephemeral sessions, with their indexes.
  var memorySize: Int {
    sessions.memorySize + tasks.memorySize + tasksOfSession.memorySize + unfinished.memorySize
      + ended.memorySize + kept.memorySize + journal.memorySize + journalOfTenant.memorySize
      + journalOfSession.memorySize + journalOfTask.memorySize + deliveries.memorySize
      + decisions.memorySize + decisionsOfSession.memorySize + decisionsOfTask.memorySize
      + repliesByTime.memorySize
  }
}
