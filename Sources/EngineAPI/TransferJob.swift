package import HTTPCache
package import TransferModel

/// What a worker needs to carry a task out.
package struct TransferJob: Sendable {
  package var task: TaskID
  package var session: SessionID
  package var sessionType = SessionType.default
  /// The session's: all of its jobs have the same.
  package var sharedConfiguration: Shared<SessionConfiguration>
  package var kind: TaskKind
  package var request: TransferRequest
  package var priority: Double
  /// Bytes per second of this task alone.
  package var maximumBytesPerSecond: Int?
  /// Of the request that the task was created with.
  package var originalURL: String
  package var delegate: SessionDelegate?
  package var asksForResponses = false
  package var asksForCaching = false
  /// Who is asked in the handshakes of its connections.
  package var asksForTrust = false
  package var asksForCertificate = false
  /// Data is shown as it comes; else when it is whole.
  package var prefersIncrementalDelivery = true
  /// Where a download goes on.
  @IndirectIfAny package var resumePoint: ResumePoint?
  /// How many questions were asked about it so far: the next has the next number.
  package var questions = 0
  /// Under which what it writes is kept: the owner's epoch, and the attempt. Nil: under the task's name alone.
  package var blob: BlobStamp?
  /// What a job for nobody in particular is for: it is known to its worker only.
  package struct Revalidation: Sendable {
    /// Stored, and asked about.
    package let stored: CachedResponse
    /// What becomes of another that comes in its place.
    package let policy: CacheStoragePolicy

    package init(stored: CachedResponse, policy: CacheStoragePolicy) {
      (self.stored, self.policy) = (stored, policy)
    }
  }
  @IndirectIfAny package var revalidates: Revalidation?
  /// Why it cannot be carried out at all.
  @IndirectIfAny package var fault: TransferError?

  package init(
    task: TaskID, session: SessionID, configuration: Shared<SessionConfiguration>, kind: TaskKind,
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
      task: task, session: session, configuration: Shared(configuration), kind: kind, request: request,
      priority: priority)
  }
}
