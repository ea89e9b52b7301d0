import Addresses
import BlobStore
import Cluster
import Crypto
import EventLoop
import Ledger
import Logging
import Records
import SimulatedStores
import Synchronization
import TestSupport
import Testing
import TransferEngine
import TransferModel

@testable import TransferService

/// A process that stands still in the middle of a commit: nobody else writes anything before it has ended.
@Suite(.endsInTime) struct FrozenOwnerTests {
  private final class Others: Coordination {
    let address: String
    private let state = Mutex((areAlive: true, ended: 0))
    init(address: String) { self.address = address }
    var ended: Int { state.withLock(\.ended) }
    func standStill() { state.withLock { $0.areAlive = false } }
    func isAlive(at address: String) -> Bool { state.withLock(\.areAlive) }
    func endTheFrozen() -> Bool {
      state.withLock { if !$0.areAlive { $0.ended += 1 } }
      return true
    }
    func ring(at address: String) {}
  }

  private struct Member {
    let service: TransferService
    let store: SimulatedLedger
    let others: Others
    let engine: TransferEngine

    init(_ address: String, on database: SimulatedDatabase) throws {
      let blobs = MemoryBlobs()
      let pool = WorkerPool(name: "test-pool", threads: 1)
      let relay = FactRelay()
      let keys = [SymmetricKey(size: .bits256)]
      (store, others) = (SimulatedLedger(on: database, .atOnce), Others(address: address))
      engine = try TransferEngine(
        workers: 1, settings: .init(egress: EgressPolicy(), blobs: blobs, pool: pool)
      ) { relay.deliver($0) }
      service = TransferService(
        store: store, engine: engine, relay: relay, hub: EventHub(),
        cluster: Cluster(store: store, coordination: others), blobs: blobs,
        box: SecretBox(secrets: keys), answerTagger: AnswerTagger(secrets: keys), pool: pool,
        now: { Timestamp(seconds: 1_800_000_000) },
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
  }

  /// Taking up what another has given waits until the store has written, and so waits for the one that keeps it.
  @Test func itEndsThoughAllElseWaitsForTheLedger() async throws {
    let database = SimulatedDatabase()
    let (first, second) = (try Member("first", on: database), try Member("second", on: database))
    for member in [first, second] { _ = try await member.service.recover() }
    _ = try await first.service.cluster.attend()
    second.store.set(.unavailable)
    let look = Task { try await second.service.cluster.attend() }
    while second.store.refusal == nil { await Task.yield() }
    second.service.cluster.beat()
    #expect(second.others.ended == 0, "it is slow, but it lives")
    second.others.standStill()
    second.service.cluster.beat()
    #expect(second.others.ended == 1)
    second.store.set(nil)
    #expect(try await look.value == 0)
    second.service.cluster.beat()
    #expect(second.others.ended == 1, "who keeps nobody from the ledger is not ended")
    for member in [first, second] { await member.engine.stop() }
  }
}
