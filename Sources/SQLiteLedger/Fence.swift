internal import FoundationEssentials
internal import GRDB
internal import Ledger
internal import TransferModel

/// What this process may write: what it knows of who takes part and who owns what. A plain value: of a transaction that does not hold,
/// nothing stays.
struct Fence {
  /// The one under which this process takes part; nil: it does not, and nobody keeps it from writing.
  private(set) var epoch: Epoch?
  /// Its own.
  private(set) var shards = ShardSet()
  /// It carries background tasks out: it writes what concerns them, of whatever shard.
  private var isWorker = false
  /// Nothing more may be written: another process has taken over from it, or it has left.
  private(set) var isDown = false
  /// It has left by itself.
  private(set) var hasLeft = false
  /// How often ownership had changed when it was last looked at.
  private var changes: Int64 = 0

  /// Under which it owns some of the shards; nil: it takes no part, or all are its own.
  var part: Epoch? { isWorker || shards == .all ? nil : epoch }

  /// Whether the process may write what is about that session.
  func admits(_ session: SessionID) -> Bool {
    epoch == nil || isWorker || shards.contains(session.shard)
  }

  /// Learns of what others have changed. Inside the transaction: nobody can take over between this and the commit.
  mutating func look(in database: Database) throws {
    guard let epoch else { return }
    let newest = try Int64.fetchOne(database.prepared(.epoch)) ?? 0
    guard newest != changes else { return }
    changes = newest
    if isWorker {
      isDown = try OwnershipTable.worker(of: database) != epoch
      return
    }
    let table = try OwnershipTable(database)
    shards = table.shards(of: epoch)
    isDown = table.processes[epoch] == nil
  }

  /// - Returns: false where that cannot be done; then nothing is written.
  mutating func write(
    _ change: OwnershipChange, in database: Database, _ statements: WriteStatements
  ) throws -> Bool {
    let newest = 1 + (try Int64.fetchOne(database.prepared(.epoch)) ?? 0)
    switch change {
    case .enters(let address):
      assert(epoch == nil, "a process begins once")
      epoch = newest
      try statements.processes.enter.run(.integer(newest), .string(address))
    case .takesOver(let gone):
      guard let epoch else { return false }
      for process in gone where process != epoch { try statements.processes.leave.run(.integer(process)) }
      try statements.decisions.withdraw.run()
      try statements.processes.takeShards.run(.integer(epoch))
    case .retires:
      guard let epoch else { return false }
      try statements.processes.retire.run(.integer(1), .integer(epoch))
    case .handsOver(let given, let receiver):
      guard try OwnershipTable(database).mayReceive(receiver) else { return false }
      for shard in given.intersection(shards).shards {
        try statements.processes.giveShard.run(.integer(receiver), .blob([shard.number]))
      }
    case .leaves:
      guard let epoch else { return false }
      try statements.processes.leave.run(.integer(epoch))
      (isDown, hasLeft) = (true, true)
    case .takesWork:
      assert(epoch == nil || isWorker, "a process is a service or a worker")
      (epoch, isWorker) = (newest, true)
      try statements.processes.takeWork.run(.integer(1), .integer(newest))
    }
    try statements.processes.countChange.run(.integer(1), .integer(newest))
    changes = newest
    if !isWorker { shards = try OwnershipTable(database).shards(of: epoch ?? 0) }
    return true
  }
}

extension OwnershipTable {
  init(_ database: Database) throws {
    self.init()
    for row in try Row.fetchAll(database.prepared(.processes)) {
      let epoch: Epoch = row[StoredColumn.epoch.rawValue]
      processes[epoch] = row[StoredColumn.address.rawValue]
      if row[StoredColumn.retiring.rawValue] { retiring.insert(epoch) }
    }
    for row in try Row.fetchAll(database.prepared(.shards)) {
      let byte: Data = row[StoredColumn.byte.rawValue]
      guard let number = byte.first else { continue }
      owners[Int(number)] = row[StoredColumn.epoch.rawValue]
    }
    worker = try Self.worker(of: database)
  }

  static func worker(of database: Database) throws -> Epoch {
    try Epoch.fetchOne(database.prepared(.worker)) ?? 0
  }
}
