import Ledger
import LedgerConformance
import Records
import Testing
import TransferModel

@testable import MemoryLedger

/// The memory ledger's size, and its limit of deleted sessions.
@Suite struct MemoryLedgerTests {
  private static func session(_ number: UInt64) -> TransferSession {
    TransferSession(
      id: LedgerBench.id(number), type: .ephemeral, createdAt: LedgerBench.time, description: "d",
      configuration: SessionConfiguration(), delegate: nil)
  }

  private static func task(_ number: UInt64, in session: SessionID, url: String) -> TransferTask {
    TransferTask(
      id: LedgerBench.id(number), sessionID: session, taskIdentifier: Int(number),
      createdAt: LedgerBench.time,
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: url)))
  }

  private static func change(_ session: SessionID, _ fill: (inout LedgerChange) -> Void) -> LedgerChange {
    var change = LedgerChange()
    change.owner = session
    fill(&change)
    return change
  }

  @Test func memorySizeGrowsWithTextAndReturnsToZero() throws {
    let (ledger, session) = (MemoryLedger(), Self.session(1))
    ledger.add(session.id)
    func write(_ fill: (inout LedgerChange) -> Void) throws -> Int {
      _ = try ledger.write(Self.change(session.id, fill), after: 0).get()
      return ledger.memorySize
    }
    let one = try write { $0.sessions = [session] }
    var sizes = [one]
    for (number, count) in zip(1..., [0, 0, 10_000]) {
      let url = "http://a/" + String(repeating: "x", count: count)
      sizes.append(try write { $0.createdTasks = [Self.task(UInt64(number), in: session.id, url: url)] })
    }
    #expect(one > 0 && sizes == sizes.sorted() && sizes[3] - sizes[2] == sizes[2] - sizes[1] + 10_000)
    let event = TransferEvent(
      .sessionDidBecomeInvalid, at: LedgerBench.time, session: session.id, task: LedgerBench.id(1), .none)
    let told = try write { $0.events = [event] }
    #expect(told > sizes[3])
    #expect(try write { $0.deletedSession = session.id } == 0)
  }

  @Test func `ids of deleted sessions are kept up to a limit`() throws {
    let ledger = MemoryLedger()
    let count = UInt64(MemoryLedger.maximumDeletedIDs) + 5
    for number in 1...count {
      let session: SessionID = LedgerBench.id(number)
      ledger.add(session)
      _ = try ledger.write(Self.change(session) { $0.deletedSession = session }, after: 0).get()
    }
    #expect((1...5).allSatisfy { !ledger.contains(LedgerBench.id($0)) })
    #expect((6...count).allSatisfy { ledger.contains(LedgerBench.id($0)) })
  }

  /// Without the id, the delivery's result would go to the durable ledger, and retries would never end.
  @Test func `id of a deleted session is kept while a delivery is pending`() throws {
    let (ledger, first) = (MemoryLedger(), LedgerBench.id(1) as SessionID)
    func delete(_ numbers: Range<UInt64>) throws {
      for number in numbers {
        let session: SessionID = LedgerBench.id(number)
        ledger.add(session)
        _ = try ledger.write(Self.change(session) { $0.deletedSession = session }, after: 0).get()
      }
    }
    var delivery = WebhookDelivery.sample(
      id: LedgerBench.id(1), sessionID: first, webhook: nil, payload: [], createdAt: LedgerBench.time)
    _ = try ledger.write(Self.change(first) { [delivery] in $0.newDeliveries = [delivery] }, after: 0).get()
    let limit = UInt64(MemoryLedger.maximumDeletedIDs)
    try delete(1..<limit + 5)
    #expect(ledger.contains(first) && !ledger.contains(LedgerBench.id(2)))
    (delivery.state, delivery.finishedAt) = (.delivered, LedgerBench.time)
    var pruning = Pruning(in: .memory)
    pruning.records.deliveries = [delivery.id]
    _ = try ledger.write(Self.change(first) { [delivery] in $0.updatedDeliveries = [delivery] }, after: 0)
      .get()
    _ = try ledger.write(Self.change(first) { [pruning] in $0.pruning = pruning }, after: 0).get()
    try delete(limit + 5..<2 * limit + 10)
    #expect(!ledger.contains(first))
  }

  @Test func `session of a refused creation is removed`() throws {
    let (ledger, session) = (MemoryLedger(), Self.session(1))
    ledger.add(session.id)
    let change = Self.change(session.id) { change in
      change.sessions = [session]
      change.conditions = [.unchanged(Self.task(1, in: session.id, url: "http://a/"))]
    }
    #expect(throws: LedgerError.self) { try ledger.write(change, after: 0).get() }
    #expect(ledger.isEmpty)
    // A session that exists stays in memory after a refused change.
    ledger.add(session.id)
    _ = try ledger.write(Self.change(session.id) { $0.sessions = [session] }, after: 0).get()
    #expect(throws: LedgerError.self) { try ledger.write(change, after: 0).get() }
    #expect(ledger.contains(session.id))
  }

  @Test func `credentials of ephemeral sessions are not stored`() async throws {
    let (ledger, session) = (MemoryLedger(), Self.session(1))
    let space = ProtectionSpace(host: "a.test", port: 1, protocolName: "http")
    let credential = Credential(user: "u", password: "p", persistence: .permanent)
    let change = Self.change(session.id) { change in
      change.sessions = [session]
      change.credentials = [StoredCredential(session: session.id, space: space, credential: credential)]
    }
    _ = try ledger.write(change, after: 0).get()
    #expect(try await ledger.storage(of: session.id).credentials.isEmpty)
  }

  @Test func `closed ledger fails reads`() async throws {
    let ledger = MemoryLedger()
    ledger.close()
    await #expect(throws: LedgerError.self) { try await ledger.task(LedgerBench.id(1)) }
  }
}
