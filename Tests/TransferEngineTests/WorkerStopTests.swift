import Addresses
import BlobStore
import Curl
import EngineAPI
import EventLoop
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite(.blocking) struct WorkerStopTests {
  private static func job(_ number: UInt64) -> TransferJob {
    TransferJob(
      task: TaskID(high: 1, low: number), session: .shared, configuration: .init(), kind: .data,
      request: TransferRequest(url: "http://127.0.0.1:9/"), priority: 0.5)
  }

  private static func settings() throws -> EngineSettings {
    let files = MemoryFiles(capacity: 1 << 20)
    return EngineSettings(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]),
      blobs: SessionBlobs(files, of: .shared), pool: ThreadPool(name: "test-write", threads: 1))
  }

  /// A task that receives its slot in the tick in which the loop stops does not begin, and the loop is released.
  @Test func `stopped transfer loop begins no task and is released`() async throws {
    let hasBegun = Atomic(false)
    let loop = EventLoop(name: "test-xfer")
    weak var context: TransferContext?
    do {
      let worker = TransferLoop(loop: loop, settings: try Self.settings(), roots: CertificateAuthoritySet()) {
        facts in
        for case .began in facts { hasBegun.store(true, ordering: .relaxed) }
      }
      worker.attach()
      context = worker.context
      worker.mailbox.post(.submit([Self.job(1)]))
      await withCheckedContinuation { continuation in
        worker.mailbox.post(.stop { continuation.resume() })
        worker.mailbox.post(.submit([Self.job(2)]))
        loop.start()
      }
      await loop.stopAndJoin()
    }
    let begun = hasBegun.load(ordering: .relaxed)
    #expect(!begun && context == nil)
  }
}
