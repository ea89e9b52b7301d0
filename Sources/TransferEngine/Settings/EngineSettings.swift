package import Addresses
package import BlobStore
package import EngineAPI
package import EventLoop
package import TransferModel

package struct EngineSettings: Sendable {
  package var egress: EgressPolicy
  /// The store of tasks' bodies and of stored files.
  package var blobs: any BlobStore
  /// The memory for the bodies of ephemeral sessions.
  package var memoryFiles = MemoryFiles(capacity: 1 << 30)
  /// Threads that may wait for a disk.
  package var pool: ThreadPool
  /// The largest body in bytes that stays in memory and is stored in the ledger.
  package var smallBodyLimit = 32 * 1024
  /// The size limit of a body in bytes.
  package var maximumBodySize: Int64 = 1 << 40
  /// The limit of simultaneous transfers of each transfer loop.
  package var maximumActive = 4096
  package var maximumIdleHandles = 256
  package var idleSessions = IdleSessions.Limits()
  package var userAgent = "Ferry"
  /// Returns whether requests may be sent now. `false` in a service that was frozen, until it knows that no other has taken over. Called on
  /// the loops.
  package var mayBegin: @Sendable () -> Bool = { true }
  /// `nil` for the system's certificate authorities.
  package var certificateAuthorityFile: String?
  /// The cookies and credentials of sessions. The owner writes them to the ledger.
  package var storages = SessionStorageLoader()
  package var networks = NetworkEnvironment()
  /// `nil` if no directory is opened for destinations.
  package var destinations: (any DestinationStore)?
  /// `nil` if no session has a cache.
  package var caches: CacheStorage?
  /// The number of refused credentials after which a task gives up.
  package var maximumAuthenticationAttempts = 10
  /// Threads that wait for a Kerberos realm.
  package var tokenPool = ThreadPool(name: "ferry-gssapi", threads: 2)
  package var now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

  package init(egress: EgressPolicy, blobs: any BlobStore, pool: ThreadPool) {
    self.egress = egress
    self.blobs = blobs
    self.pool = pool
  }

  /// Returns the blob store of a session's bodies.
  package func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore {
    type == .ephemeral ? SessionBlobs(memoryFiles, of: session) : blobs
  }
}
