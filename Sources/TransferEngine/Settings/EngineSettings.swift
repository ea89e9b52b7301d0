package import Addresses
package import BlobStore
package import EngineAPI
package import EventLoop
package import TransferModel

/// The settings of an engine.
package struct EngineSettings: Sendable {
  package var egress: EgressPolicy
  /// The bodies of tasks, and stored files.
  package var blobs: any BlobStore
  /// The bodies of ephemeral sessions.
  package var memoryFiles = MemoryFiles(capacity: 1 << 30)
  /// Threads that may wait for a disk.
  package var pool: WorkerPool
  /// Bytes up to which a body stays in memory and goes into the store.
  package var smallBodyLimit = 32 * 1024
  /// Bytes of the largest body.
  package var maximumBodySize: Int64 = 1 << 40
  /// Transfers at once, of each worker.
  package var maximumActive = 4096
  package var maximumIdleHandles = 256
  package var idleSessions = IdleSessions.Limits()
  package var userAgent = "Ferry"
  /// Whether requests may go out now: false in a process that stood still, until it knows that no other one has taken over. Called on the
  /// loops.
  package var mayBegin: @Sendable () -> Bool = { true }
  /// nil: the system's.
  package var certificateAuthorityFile: String?
  /// The cookies and credentials of sessions; the owner writes them to the ledger.
  package var storages = SessionStorages()
  package var networks = Networks()
  /// nil: no session has a cache.
  package var caches: CacheStorage?
  /// Credentials that may be refused before a task gives up.
  package var maximumAuthenticationAttempts = 10
  /// Threads that wait for a Kerberos realm.
  package var tokenPool = WorkerPool(name: "ferry-gssapi", threads: 2)
  package var now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

  package init(egress: EgressPolicy, blobs: any BlobStore, pool: WorkerPool) {
    self.egress = egress
    self.blobs = blobs
    self.pool = pool
  }

  /// Where a session's bodies are.
  package func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore {
    type == .ephemeral ? SessionBlobs(memoryFiles, of: session) : blobs
  }
}
