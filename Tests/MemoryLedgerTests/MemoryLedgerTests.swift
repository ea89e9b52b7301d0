import Ledger
import LedgerConformance
import MemoryLedger
import Synchronization
import Testing
import TransferModel

/// Crashes and faults of the store in memory: what was acknowledged stays, what was not is there as its owner chooses.
@Suite(.serialized) struct MemoryLedgerTests {
  private static func news(_ text: String) -> StoreChange {
    var change = StoreChange()
    change.news = [text]
    return change
  }

  private static func event(of session: SessionID = .shared) -> TransferEvent {
    TransferEvent(.sessionDidBecomeInvalid, at: LedgerBench.time, session: session, .invalidated)
  }

  private static let ephemeral = TransferSession(
    id: LedgerBench.id(9), type: .ephemeral, createdAt: LedgerBench.time, description: nil,
    configuration: SessionConfiguration(), delegate: nil)

  /// What was called back, in its order.
  private final class Heard: Sendable {
    private let all = Mutex<[String]>([])
    func hear(_ text: String) { all.withLock { $0.append(text) } }
    var texts: [String] { all.withLock { $0 } }
  }

  private func told(_ database: MemoryDatabase) async throws -> [String] {
    try await MemoryLedger(on: database).news(after: 0, limit: 100).map(\.content)
  }

  @Test func nothingIsCommittedUntilItsOwnerSaysSo() async throws {
    let (store, heard) = (MemoryLedger(), Heard())
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

  @Test(arguments: 0...4) func aPrefixOfWhatWaitsSurvivesACrash(_ kept: Int) async throws {
    let (store, heard) = (MemoryLedger(), Heard())
    for text in ["a", "b", "c", "d"] { store.record(Self.news(text)) { heard.hear(text) } }
    store.commitNext()
    let database = store.crash(keeping: kept)
    #expect(try await told(database) == Array(["a", "b", "c", "d"].prefix(1 + kept)))
    #expect(heard.texts == ["a"])
  }

  @Test func whoIsDeadAnswersNobody() async throws {
    let (store, heard) = (MemoryLedger(), Heard())
    store.record(Self.news("a")) { heard.hear("a") }
    let writing = Task { try await store.write(Self.news("b")) }
    while store.waitingCount < 2 { await Task.yield() }
    store.crash()
    await #expect(throws: StoreError.self) { try await writing.value }
    await #expect(throws: StoreError.self) { try await store.write(Self.news("c")) }
    await #expect(throws: StoreError.self) { try await store.news(after: 0, limit: 1) }
    store.record(Self.news("d")) { heard.hear("d") }
    #expect(!store.commitNext() && heard.texts == [] && store.waitingCount == 0)
    #expect(try await told(store.database) == [])
  }

  @Test func rowsOfEphemeralSessionsGoWithTheProcessAndTheirNumbersDoNotComeAgain() async throws {
    let store = MemoryLedger(.atOnce)
    try await store.write { change in
      change.sessions = [Self.ephemeral, .shared(.shared, of: .default)]
      change.events = [Self.event(), Self.event(of: Self.ephemeral.id)]
    }
    #expect(store.lastSequence == 2)
    let next = MemoryLedger(on: store.crash(), .atOnce)
    #expect(next.highestSequence >= 2)
    #expect(try await next.journal(.session(Self.ephemeral.id), after: 0, maximumBytes: 9).fragments == [])
    #expect(
      try await next.journal(.tenant(.default), after: 0, maximumBytes: 1 << 20).fragments.map(\.last) == [1])
  }

  @Test func twoProcessesShareADatabase() async throws {
    let first = MemoryLedger(.atOnce)
    let second = MemoryLedger(on: first.database)
    try await first.write(Self.news("a"))
    second.record(Self.news("b")) {}
    try await first.write(Self.news("c"))
    second.commitAll()
    #expect(try await first.news(after: 0, limit: 9).map(\.content) == ["a", "c", "b"])
    let copy = first.database.copy()
    try await first.write(Self.news("d"))
    #expect(try await told(copy) == ["a", "c", "b"])
    // The one goes, and the other does not notice.
    first.crash()
    second.record(Self.news("e")) {}
    second.commitAll()
    #expect(try await told(second.database) == ["a", "c", "b", "d", "e"])
  }

  @Test(arguments: [MemoryLedger.Fault.full, .unavailable])
  func factsWaitAndRequestsAreRefused(_ fault: MemoryLedger.Fault) async throws {
    let (store, heard) = (MemoryLedger(.atOnce), Heard())
    store.set(fault)
    store.record(Self.news("a")) { heard.hear("a") }
    await #expect(throws: StoreError.self) { try await store.write(Self.news("request")) }
    store.record(Self.news("b")) { heard.hear("b") }
    #expect(store.refusal.map { "\($0)" } == "\(fault.error)" && heard.texts == [] && store.waitingCount == 2)
    #expect(try await told(store.database) == [])
    store.set(nil)
    #expect(store.refusal == nil && heard.texts == ["a", "b"])
    try await store.write(Self.news("c"))
    #expect(try await told(store.database) == ["a", "b", "c"])
  }

  @Test func aRequestThatIsRefusedForWantOfRoomLeavesNobodyUnwell() async throws {
    let store = MemoryLedger(.atOnce)
    store.set(.full)
    await #expect(throws: StoreError.self) { try await store.write(Self.news("a")) }
    #expect(store.refusal == nil)
    store.set(nil)
    #expect(try await told(store.database) == [])
  }

  @Test func whatIsForMemoryAloneDoesNotWaitForADisk() async throws {
    let (store, heard) = (MemoryLedger(.atOnce), Heard())
    try await store.write { $0.sessions = [Self.ephemeral] }
    store.set(.full)
    try await store.write { $0.events = [Self.event(of: Self.ephemeral.id)] }
    var both = StoreChange()
    both.events = [Self.event(of: Self.ephemeral.id), Self.event()]
    store.record(both) { heard.hear("both") }
    #expect(heard.texts == [] && store.lastSequence == 2)
    store.set(nil)
    #expect(heard.texts == ["both"] && store.lastSequence == 3)
  }

  @Test func aDamagedRowHarmsNoOther() async throws {
    let told = Heard()
    let store = MemoryLedger(.atOnce, unreadable: UnreadableRows { told.hear("\($0.kind) \($0.id)") })
    let files = (1...3).map {
      StoredFile(
        id: LedgerBench.id($0), tenant: .default, createdAt: LedgerBench.time, size: 1, sha256: "",
        contentType: nil,
        fromTask: nil)
    }
    try await store.write { $0.newFiles = files }
    store.database.damage(.file, files[1].id)
    #expect(try await store.files(of: .default, after: nil, limit: 2) == [files[0], files[2]])
    await #expect(throws: StoreError.self) { try await store.file(files[1].id) }
    #expect(store.unreadable.row(.file, files[1].id) != nil && told.texts == ["file \(files[1].id)"])
    store.database.mend(.file, files[1].id)
    #expect(try await store.file(files[1].id) == files[1])
  }

  @Test func closingWritesWhatWaits() async throws {
    let store = MemoryLedger()
    store.record(Self.news("a")) {}
    await store.close()
    store.record(Self.news("b")) {}
    #expect(try await told(store.database) == ["a"])
  }
}
