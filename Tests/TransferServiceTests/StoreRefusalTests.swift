import Addresses
import BlobStore
import Crypto
import EventLoop
import Ledger
import Logging
import Records
import SimulatedStores
import TestSupport
import Testing
import TransferEngine
import TransferModel

@testable import TransferService

/// What clients are told while the store takes nothing.
@Suite(.endsInTime) struct StoreRefusalTests {
  /// A disk that is full is one thing, and another process that keeps the database is another.
  @Test(arguments: [SimulatedLedger.Fault.full, .unavailable])
  func requestsAreRefusedForTheStoresReason(_ fault: SimulatedLedger.Fault) async throws {
    let directory = TemporaryDirectory.make("ferry-refusal")
    let blobs = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try blobs.prepare()
    let pool = WorkerPool(name: "test-pool", threads: 1)
    let (store, relay) = (SimulatedLedger(.atOnce), FactRelay())
    let engine = try TransferEngine(
      workers: 1, settings: .init(egress: EgressPolicy(), blobs: blobs, pool: pool)
    ) { relay.deliver($0) }
    let keys = [SymmetricKey(size: .bits256)]
    let service = TransferService(
      store: store, engine: engine, relay: relay, hub: EventHub(), blobs: blobs,
      box: SecretBox(secrets: keys), answerTagger: AnswerTagger(secrets: keys), pool: pool,
      now: { Timestamp(seconds: 1_800_000_000) },
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    let session = try service.view(of: .default).session(.shared).id
    _ = try service.files.receive()
    store.set(fault)
    store.record(StoreChange()) {}
    await expect(fault) { () async throws(ServiceError) in _ = try service.files.receive() }
    // Nor does anybody wait for the disk who wants to know that something is there.
    await expect(fault) { () async throws(ServiceError) in _ = try await service.sessions.flush(session) }
    await expect(fault) { () async throws(ServiceError) in
      let wish = EventWish(after: 1000, types: nil, wantsProgress: false, wantsData: false)
      _ = try await service.streams.subscribe(.session(session), of: session, wish)
    }
    #expect(!service.isReady)
    store.set(nil)
    #expect(service.isReady)
    _ = try service.files.receive()
    await engine.stop()
  }

  private func expect(
    _ fault: SimulatedLedger.Fault, _ request: () async throws(ServiceError) -> Void
  ) async {
    do throws(ServiceError) {
      try await request()
      Issue.record("it was taken")
    } catch {
      switch (fault, error) {
      case (.full, .storeFull), (.unavailable, .storeUnavailable): break
      default: Issue.record("\(error)")
      }
    }
  }
}
