import Ledger
import LedgerConformance
import MemoryLedger
import SimulatedStores
import Synchronization
import Testing
import TransferModel

/// Crashes and faults of the simulated ledger. Acknowledged changes stay; the test chooses which of the others do.
@Suite(.serialized) struct SimulatedLedgerTests {
  private static func news(_ text: String) -> LedgerChange {
    var change = LedgerChange()
    change.workerReports = [text]
    return change
  }

  private static func event(of session: SessionID = .shared) -> TransferEvent {
    TransferEvent(.sessionDidBecomeInvalid, at: LedgerBench.time, session: session, .invalidated)
  }

  private static let ephemeral = TransferSession(
    id: LedgerBench.id(9), type: .ephemeral, createdAt: LedgerBench.time, description: nil,
    configuration: SessionConfiguration(), delegate: nil)

  /// Records callbacks in order.
  private final class Heard: Sendable {
    private let all = Mutex<[String]>([])
    func hear(_ text: String) { all.withLock { $0.append(text) } }
    var texts: [String] { all.withLock { $0 } }
  }

  private func told(_ database: SimulatedDatabase) async throws -> [String] {
    try await SimulatedLedger(on: database).workerReports(after: 0, limit: 100).map(\.content)
  }

  @Test func changesWaitForCommitNext() async throws {
    let (store, heard) = (SimulatedLedger(), Heard())
    for text in ["a", "b", "c"] { store.record(Self.news(text)) { heard.hear(text) } }
    #expect(store.waitingCount == 3 && heard.texts == [])
    #expect(try await told(store.database) == [])
    #expect(store.commitNext())
    #expect(heard.texts == ["a"] && store.waitingCount == 2)
    #expect(try await told(store.database) == ["a"])
    store.commitAll()
    #expect(heard.texts == ["a", "b", "c"] && !store.commitNext())
    #expect(try await told(store.database) == ["a", "b", "c"])
  }

  @Test(arguments: 0...4) func crashKeepsAPrefixOfWaitingChanges(_ kept: Int) async throws {
    let (store, heard) = (SimulatedLedger(), Heard())
    for text in ["a", "b", "c", "d"] { store.record(Self.news(text)) { heard.hear(text) } }
    store.commitNext()
    let database = store.crash(keeping: kept)
    #expect(try await told(database) == Array(["a", "b", "c", "d"].prefix(1 + kept)))
    #expect(heard.texts == ["a"])
  }

  @Test func crashedLedgerFailsAllCalls() async throws {
    let (store, heard) = (SimulatedLedger(), Heard())
    store.record(Self.news("a")) { heard.hear("a") }
    let writing = Task { try await store.write(Self.news("b")) }
    while store.waitingCount < 2 { await Task.yield() }
    store.crash()
    await #expect(throws: LedgerError.self) { try await writing.value }
    await #expect(throws: LedgerError.self) { try await store.write(Self.news("c")) }
    await #expect(throws: LedgerError.self) { try await store.workerReports(after: 0, limit: 1) }
    store.record(Self.news("d")) { heard.hear("d") }
    #expect(!store.commitNext() && heard.texts == [] && store.waitingCount == 0)
    #expect(try await told(store.database) == [])
  }

  @Test func `two processes share a database`() async throws {
    let first = SimulatedLedger(.atOnce)
    let second = SimulatedLedger(on: first.database)
    try await first.write(Self.news("a"))
    second.record(Self.news("b")) {}
    try await first.write(Self.news("c"))
    second.commitAll()
    #expect(try await first.workerReports(after: 0, limit: 9).map(\.content) == ["a", "c", "b"])
    let copy = first.database.copy()
    try await first.write(Self.news("d"))
    #expect(try await told(copy) == ["a", "c", "b"])
    // A crash of one process does not affect the other.
    first.crash()
    second.record(Self.news("e")) {}
    second.commitAll()
    #expect(try await told(second.database) == ["a", "c", "b", "d", "e"])
  }

  @Test(arguments: [SimulatedLedger.Fault.full, .unavailable])
  func `failing database delays facts and refuses requests`(_ fault: SimulatedLedger.Fault) async throws {
    let (store, heard) = (SimulatedLedger(.atOnce), Heard())
    store.set(fault)
    store.record(Self.news("a")) { heard.hear("a") }
    await #expect(throws: LedgerError.self) { try await store.write(Self.news("request")) }
    store.record(Self.news("b")) { heard.hear("b") }
    #expect(store.refusal.map { "\($0)" } == "\(fault.error)" && heard.texts == [] && store.waitingCount == 2)
    #expect(try await told(store.database) == [])
    store.set(nil)
    #expect(store.refusal == nil && heard.texts == ["a", "b"])
    try await store.write(Self.news("c"))
    #expect(try await told(store.database) == ["a", "b", "c"])
  }

  @Test func `refused request on a full disk sets no refusal`() async throws {
    let store = SimulatedLedger(.atOnce)
    store.set(.full)
    await #expect(throws: LedgerError.self) { try await store.write(Self.news("a")) }
    #expect(store.refusal == nil)
    store.set(nil)
    #expect(try await told(store.database) == [])
  }

  @Test func `full database does not delay ephemeral sessions`() async throws {
    let (durable, heard) = (SimulatedLedger(.atOnce), Heard())
    let store = CompositeLedger(durable)
    func change(_ session: SessionID) -> LedgerChange {
      var change = LedgerChange()
      change.owner = session
      change.events = [Self.event(of: session)]
      return change
    }
    try await store.write { change in
      (change.owner, change.sessions) = (Self.ephemeral.id, [Self.ephemeral])
    }
    // The first event reserves numbers.
    try await store.write(change(Self.ephemeral.id))
    durable.set(.full)
    try await store.write(change(Self.ephemeral.id))
    store.record(change(.shared)) { heard.hear("shared") }
    store.record(change(Self.ephemeral.id)) { heard.hear("ephemeral") }
    #expect(heard.texts == ["ephemeral"] && store.lastSequence == 3)
    durable.set(nil)
    #expect(heard.texts == ["ephemeral", "shared"] && store.lastSequence > 3)
  }

  @Test func `ephemeral sessions wait in order without reserved numbers`() async throws {
    let (durable, heard) = (SimulatedLedger(.atOnce), Heard())
    let store = CompositeLedger(durable)
    try await store.write { change in
      (change.owner, change.sessions) = (Self.ephemeral.id, [Self.ephemeral])
    }
    durable.set(.full)
    for text in ["event", "identifier"] {
      var change = LedgerChange()
      change.owner = Self.ephemeral.id
      if text == "event" {
        change.events = [Self.event(of: Self.ephemeral.id)]
      } else {
        change.lastIdentifiers = [Self.ephemeral.id: 1]
      }
      store.record(change) { heard.hear(text) }
    }
    #expect(heard.texts == [])
    durable.set(nil)
    #expect(heard.texts == ["event", "identifier"])
  }

  @Test func `damaged row does not affect other rows`() async throws {
    let told = Heard()
    let store = SimulatedLedger(.atOnce, unreadable: UnreadableRows { told.hear("\($0.kind) \($0.id)") })
    let files = (1...3).map {
      StoredFile(
        id: LedgerBench.id($0), tenant: .default, createdAt: LedgerBench.time, size: 1, sha256: "",
        contentType: nil,
        fromTask: nil)
    }
    try await store.write { $0.newFiles = files }
    store.database.damage(.file, files[1].id)
    #expect(try await store.files(of: .default, after: nil, limit: 2) == [files[0], files[2]])
    await #expect(throws: LedgerError.self) { try await store.file(files[1].id) }
    #expect(store.unreadable.row(.file, files[1].id) != nil && told.texts == ["file \(files[1].id)"])
    store.database.mend(.file, files[1].id)
    #expect(try await store.file(files[1].id) == files[1])
  }

  @Test func `close writes pending changes`() async throws {
    let store = SimulatedLedger()
    store.record(Self.news("a")) {}
    await store.close()
    store.record(Self.news("b")) {}
    #expect(try await told(store.database) == ["a"])
  }
}
