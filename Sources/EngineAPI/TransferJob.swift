package import HTTPCache
package import TransferModel

/// A task as the engine needs it.
package struct TransferJob: Sendable {
  package var task: TaskID
  package var session: SessionID
  package var sessionType = SessionType.default
  /// The session's configuration, shared by all of its jobs.
  package var sharedConfiguration: SharedBox<SessionConfiguration>
  package var kind: TaskKind
  package var request: TransferRequest
  package var priority: Double
  /// The rate limit of this task in bytes per second.
  package var maximumBytesPerSecond: Int?
  /// The URL of the request that the task was created with.
  package var originalURL: String
  package var delegate: SessionDelegate?
  package var asksForResponses = false
  package var asksForCaching = false
  /// Whether the delegate is asked about trust in the handshakes of the task's connections.
  package var asksForTrust = false
  package var asksForCertificate = false
  /// Whether data is shown as it is received. Otherwise it is shown when it is complete.
  package var prefersIncrementalDelivery = true
  /// `nil` for none, as for most tasks.
  @IndirectOptional package var requirements: ResponseRequirements?
  /// The destination of a download, which is checked before the request.
  @IndirectOptional package var destination: Destination?
  /// The statuses that fail an attempt, whose responses are not cached. `nil` in background sessions, which have no cache.
  @IndirectOptional package var retry: RetryConfiguration?
  /// The place at which a download or upload continues.
  @IndirectOptional package var resumePoint: ResumePoint?
  /// The number of decisions that the task has requested so far. The next one gets the next number.
  package var decisionCount = 0
  /// The stamp of the task's blobs: the owner's epoch, and the attempt. `nil` if blobs have only the task's name.
  package var blob: BlobStamp?
  /// The purpose of a background revalidation, a job that only its transfer loop knows.
  package struct Revalidation: Sendable {
    /// The stored response to revalidate.
    package let stored: CachedResponse
    /// The storage policy of a response that replaces the stored one.
    package let policy: CacheStoragePolicy

    package init(stored: CachedResponse, policy: CacheStoragePolicy) {
      (self.stored, self.policy) = (stored, policy)
    }
  }
  @IndirectOptional package var revalidates: Revalidation?
  /// The error of a task that cannot run at all.
  @IndirectOptional package var fault: TransferError?

  package init(
    task: TaskID, session: SessionID, configuration: SharedBox<SessionConfiguration>, kind: TaskKind,
    request: TransferRequest, priority: Double
  ) {
    self.task = task
    self.session = session
    sharedConfiguration = configuration
    self.kind = kind
    self.request = request
    originalURL = request.url
    self.priority = priority
  }

  package init(
    task: TaskID, session: SessionID, configuration: SessionConfiguration, kind: TaskKind,
    request: TransferRequest, priority: Double
  ) {
    self.init(
      task: task, session: session, configuration: SharedBox(configuration), kind: kind, request: request,
      priority: priority)
  }
}
