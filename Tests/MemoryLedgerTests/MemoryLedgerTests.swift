import Ledger
import LedgerConformance
import Testing
import TransferModel

@testable import MemoryLedger

/// The limits of what ephemeral sessions keep in memory.
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

  private static func change(_ session: SessionID, _ fill: (inout StoreChange) -> Void) -> StoreChange {
    var change = StoreChange()
    change.owner = session
    fill(&change)
    return change
  }

  @Test func memorySizeGrowsWithTextAndReturnsToZero() throws {
    let (ledger, session) = (MemoryLedger(), Self.session(1))
    ledger.add(session.id)
    func write(_ fill: (inout StoreChange) -> Void) throws -> Int {
      _ = try ledger.write(Self.change(session.id, fill), after: 0).get()
      return ledger.memorySize
    }
    let one = try write { $0.sessions = [session] }
    let short = try write { $0.createdTasks = [Self.task(1, in: session.id, url: "http://a/")] }
    let url = "http://a/" + String(repeating: "x", count: 10_000)
    let long = try write { $0.createdTasks = [Self.task(2, in: session.id, url: url)] }
    #expect(one > 0 && short > one && long - short == short - one + 10_000)
    let event = TransferEvent(
      .sessionDidBecomeInvalid, at: LedgerBench.time, session: session.id, task: LedgerBench.id(1), .none)
    let told = try write { $0.events = [event] }
    #expect(told > long)
    #expect(try write { $0.deletedSession = session.id } == 0)
  }

  @Test func deletedSessionsAreRememberedUpToALimit() throws {
    let ledger = MemoryLedger()
    let count = UInt64(MemoryLedger.rememberedSessions) + 5
    for number in 1...count {
      let session: SessionID = LedgerBench.id(number)
      ledger.add(session)
      _ = try ledger.write(Self.change(session) { $0.deletedSession = session }, after: 0).get()
    }
    #expect((1...5).allSatisfy { !ledger.contains(LedgerBench.id($0)) })
    #expect((6...count).allSatisfy { ledger.contains(LedgerBench.id($0)) })
  }

  @Test func secretsAreNotKept() async throws {
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

  @Test func closedLedgerReadsNothing() async throws {
    let ledger = MemoryLedger()
    ledger.close()
    await #expect(throws: StoreError.self) { try await ledger.task(LedgerBench.id(1)) }
  }
}
