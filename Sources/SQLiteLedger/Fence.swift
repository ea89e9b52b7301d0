internal import FoundationEssentials
internal import GRDB
internal import Ledger
internal import TransferModel

/// The rights of this process to write, from the ownership table. A plain value, so that a transaction that is rolled back leaves no trace.
struct Fence {
  /// The epoch of this process; `nil` before it has joined, when it may write everything.
  private(set) var epoch: Epoch?
  /// The shards that this process owns.
  private(set) var shards = ShardSet()
  /// Whether this process is the worker, which writes the rows of background tasks of all shards.
  private var isWorker = false
  /// Whether all later writes fail, because another process has taken over or this one has left.
  private(set) var isClosed = false
  /// Whether this process has left in order.
  private(set) var hasLeft = false
  /// The number of ownership changes at the last look.
  private var changes: Int64 = 0

  /// The epoch under which this process owns some of the shards; `nil` if it has not joined, owns all shards or is the worker.
  var ownerFilter: Epoch? { isWorker || shards == .all ? nil : epoch }

  /// Returns whether the process may write changes of the session.
  func admits(_ session: SessionID) -> Bool {
    epoch == nil || isWorker || shards.contains(session.shard)
  }

  /// Reads the changes of other processes. Runs inside the transaction, so that no take-over can happen before the commit.
  mutating func refresh(in database: Database) throws {
    guard let epoch else { return }
    let newest = try Int64.fetchOne(database.prepared(.epoch)) ?? 0
    guard newest != changes else { return }
    changes = newest
    if isWorker {
      isClosed = try OwnershipTable.worker(of: database) != epoch
      return
    }
    let table = try OwnershipTable(database)
    shards = table.shards(of: epoch)
    isClosed = table.processes[epoch] == nil
  }

  /// Writes a change of ownership.
  /// - Returns: `false` if the change is not allowed; then nothing is written.
  mutating func write(
    _ change: OwnershipChange, in database: Database, _ statements: WriteStatements
  ) throws -> Bool {
    let newest = 1 + (try Int64.fetchOne(database.prepared(.epoch)) ?? 0)
    switch change {
    case .joins(let address):
      assert(epoch == nil, "a process joins only once")
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
      (isClosed, hasLeft) = (true, true)
    case .becomesWorker:
      assert(epoch == nil || isWorker, "a service must not become the worker")
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
