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

/// A process that froze during a commit. Other processes can write only after it was killed.
@Suite(.endsInTime) struct FrozenOwnerTests {
  private final class Others: ClusterCoordinator {
    let address: String
    private let state = Mutex((areAlive: true, ended: 0))
    init(address: String) { self.address = address }
    var ended: Int { state.withLock(\.ended) }
    func standStill() { state.withLock { $0.areAlive = false } }
    func isAlive(at address: String) -> Bool { state.withLock(\.areAlive) }
    func killUnresponsivePeers() -> Bool {
      state.withLock { if !$0.areAlive { $0.ended += 1 } }
      return true
    }
    func wake(at address: String) {}
  }

  private struct Member {
    let service: TransferService
    let store: SimulatedLedger
    let others: Others
    let engine: TransferEngine

    init(_ address: String, on database: SimulatedDatabase) throws {
      let blobs = MemoryBlobs()
      let pool = ThreadPool(name: "test-pool", threads: 1)
      let relay = FactCallback()
      let keys = [SymmetricKey(size: .bits256)]
      (store, others) = (SimulatedLedger(on: database, .atOnce), Others(address: address))
      engine = try TransferEngine(
        workers: 1, settings: .init(egress: EgressPolicy(), blobs: blobs, pool: pool)
      ) { relay.deliver($0) }
      service = TransferService(
        store: store, engine: engine, relay: relay, hub: EventHub(),
        cluster: Cluster(store: store, coordination: others), blobs: blobs,
        box: SecretBox(secrets: keys), answerTagger: AnswerDigester(secrets: keys), pool: pool,
        now: { Timestamp(seconds: 1_800_000_000) },
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
  }

  /// The take-over waits for the ledger, and so for the frozen process that blocks the ledger.
  @Test func `heartbeat kills a frozen process while the ledger is blocked`() async throws {
    let database = SimulatedDatabase()
    let (first, second) = (try Member("first", on: database), try Member("second", on: database))
    for member in [first, second] { _ = try await member.service.recover() }
    _ = try await first.service.cluster.reconcile()
    second.store.set(.unavailable)
    let look = Task { try await second.service.cluster.reconcile() }
    while second.store.refusal == nil { await Task.yield() }
    second.service.cluster.tick()
    #expect(second.others.ended == 0, "a slow owner is not killed")
    second.others.standStill()
    second.service.cluster.tick()
    #expect(second.others.ended == 1)
    second.store.set(nil)
    #expect(try await look.value == 0)
    second.service.cluster.tick()
    #expect(second.others.ended == 1, "a frozen process that does not block the ledger is not killed")
    for member in [first, second] { await member.engine.stop() }
  }
}
