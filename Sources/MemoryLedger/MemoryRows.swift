internal import HTTPCookies
internal import Ledger
internal import TransferModel

/// All rows of one database, as values. A plain value: a copy of it is the database at that moment.
struct MemoryRows: Sendable {
  struct SessionRow: Sendable {
    var session: TransferSession
    var lastIdentifier = 0
  }
  struct TaskRow: Sendable {
    var task: TransferTask
    var metrics: TaskMetrics?
    var smallBody: [UInt8]?
    var hasBodyFile = false
    /// Set once it has ended.
    var completedAt: Timestamp?
    var keptUntil: Timestamp?
    var keptBytes: Int64?
    /// What it left is gone, and does not come back.
    var isPruned = false
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
  struct CredentialName: Sendable, Hashable, Comparable {
    let session: SessionID
    let space: String

    static func < (left: Self, right: Self) -> Bool {
      guard left.session == right.session else { return left.session < right.session }
      return left.space.utf8.lexicographicallyPrecedes(right.space.utf8)
    }
  }
  /// Those of a tenant are beside each other.
  struct ConfigurationPlace: Sendable, Hashable, Comparable {
    let name: ConfigurationName

    static func < (left: Self, right: Self) -> Bool {
      guard left.name.tenant == right.name.tenant else {
        return left.name.tenant.name.utf8.lexicographicallyPrecedes(right.name.tenant.name.utf8)
      }
      return left.name.text.utf8.lexicographicallyPrecedes(right.name.text.utf8)
    }
  }
  /// What names a row that cannot be read.
  struct RowName: Sendable, Hashable {
    let kind: RecordKind
    let id: String
  }

  var sessions = SortedTable<SessionID, SessionRow>()
  var tasks = SortedTable<TaskID, TaskRow>()
  var tasksOfSession = SortedGroups<SessionID, TaskID>()
  /// In the order of their ids.
  var unfinished = SortedTable<TaskID, Void>()
  var journal = SortedTable<Int64, JournalFragment>()
  /// By the first of their numbers.
  var journalOfTenant = SortedGroups<Tenant, Int64>()
  var journalOfSession = SortedGroups<SessionID, Int64>()
  var journalOfTask = SortedGroups<TaskID, Int64>()
  var pruned = PrunedEvents.none
  /// Up to which number each tenant's are gone.
  var prunedOfTenant: [Tenant: Int64] = [:]
  /// Numbers up to here are taken, whoever saw them.
  var reservedSequence: Int64 = 0
  var deliveries = DeliveryTable()
  var decisions = SortedTable<DecisionID, Decision>()
  var decisionsOfSession = SortedGroups<SessionID, DecisionID>()
  var credentials = SortedTable<CredentialName, StoredCredential>()
  /// In the order in which they were first set.
  var cookies = SortedTable<Int, CookieRow>()
  var cookiePlaces: [CookieName: Int] = [:]
  var nextCookie = 0
  var configurations = SortedTable<ConfigurationPlace, NamedConfiguration>()
  var files = SortedTable<FileID, StoredFile>()
  var replies: [IdempotencyKey: ReplyRow] = [:]
  var commands = SortedTable<Int64, StoredCommand>()
  var lastCommand: Int64 = 0
  var work = SortedTable<TaskID, StoredWork>()
  var news = SortedTable<Int64, String>()
  var lastNews: Int64 = 0
  var damage: [RowName: UnreadableRow] = [:]
  var ownership = OwnershipTable()
  /// The newest that a process was given.
  var lastEpoch: Epoch = 0
  /// Grows with each change.
  var version = 0

  func isDamaged(_ fragment: JournalFragment) -> Bool {
    !damage.isEmpty && damage[RowName(kind: .journal, id: "\(fragment.first)")] != nil
  }

  /// Whose the sessions are.
  var tenants: [SessionID: Tenant] {
    var tenants: [SessionID: Tenant] = [:]
    for (id, row) in sessions.all() { tenants[id] = row.session.tenant }
    return tenants
  }

  /// The highest number that an event has, or had.
  var lastSequence: Int64 { max(journal.keys.last.flatMap { journal[$0]?.last } ?? 0, pruned.through) }
}
