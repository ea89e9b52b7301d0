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

/// The errors that clients receive while the ledger refuses writes.
@Suite(.endsInTime) struct StoreRefusalTests {
  /// A full disk and a blocked database are different errors.
  @Test(arguments: [SimulatedLedger.Fault.full, .unavailable])
  func `requests are refused with the reason of the ledger`(_ fault: SimulatedLedger.Fault) async throws {
    let directory = TemporaryDirectory.make("ferry-refusal")
    let blobs = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try blobs.prepare()
    let pool = ThreadPool(name: "test-pool", threads: 1)
    let (store, relay) = (SimulatedLedger(.atOnce), FactCallback())
    let engine = try TransferEngine(
      workers: 1, settings: .init(egress: EgressPolicy(), blobs: blobs, pool: pool)
    ) { relay.deliver($0) }
    let keys = [SymmetricKey(size: .bits256)]
    let service = TransferService(
      store: store, engine: engine, relay: relay, hub: EventHub(), blobs: blobs,
      box: SecretBox(secrets: keys), answerTagger: AnswerDigester(secrets: keys), pool: pool,
      now: { Timestamp(seconds: 1_800_000_000) },
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    let session = try service.view(of: .default).session(.shared).id
    _ = try service.files.receive()
    store.set(fault)
    store.record(LedgerChange()) {}
    await expect(fault) { () async throws(ServiceError) in _ = try service.files.receive() }
    // A request that waits for a commit fails at once too.
    await expect(fault) { () async throws(ServiceError) in _ = try await service.sessions.flush(session) }
    await expect(fault) { () async throws(ServiceError) in
      let wish = EventFilter(after: 1000, types: nil, wantsProgress: false, wantsData: false)
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
      Issue.record("the request was accepted, but a refusal was expected")
    } catch {
      switch (fault, error) {
      case (.full, .storeFull), (.unavailable, .storeUnavailable): break
      default: Issue.record("\(error)")
      }
    }
  }
}
