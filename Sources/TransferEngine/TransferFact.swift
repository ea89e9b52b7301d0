package import HTTPCache
package import TransferModel

/// What a worker has to tell of a task, in the order in which it happened.
package enum TransferFact: Sendable {
  /// It left the queue.
  case began(TaskID, at: Timestamp)
  case redirected(TaskID, TransferResponse, to: TransferRequest, at: Timestamp)
  case informational(TaskID, status: Int, headers: HTTPHeaders, at: Timestamp)
  case response(TaskID, TransferResponse, LiveBody?, at: Timestamp)
  /// The head of a download's response is here; no delegate is told.
  case accepted(TaskID, TransferResponse)
  /// What came is about to be stored.
  case willCache(TaskID, TransferResponse, size: Int64, at: Timestamp)
  /// No network leads to the origin; it goes on by itself once one does.
  case waitsForConnectivity(TaskID, at: Timestamp)
  /// It waits for `TransferEngine.answer` to the question of that number: each of a task's has a higher one.
  case asked(TaskID, Int, TransferQuestion, at: Timestamp)
  /// A download goes on at that byte; 0: it had to start anew.
  case resumed(TaskID, offset: Int64, expectedTotal: Int64, at: Timestamp)
  /// The bytes of a download now go to the disk, where a later one could go on from them.
  case keeps(TaskID, ResumePoint)
  /// A credential let the task in that is to be remembered for longer than the process.
  case authenticated(TaskID, ProtectionSpace, Credential)
  case progress(TaskID, TaskProgress, at: Timestamp)
  case ended(TaskID, TransferOutcome)
}

/// How a transfer ended.
package struct TransferOutcome: Sendable, Codable {
  package enum Body: Sendable {
    case memory([UInt8])
    /// Durable under the task's name in the bodies directory.
    case file
  }
  package var error: TransferError?
  package var currentRequest: TransferRequest
  package var response: TransferResponse?
  package var progress: TaskProgress
  package var body: Body?
  /// What was kept for resume data.
  package var partial: ResumePoint?
  package var size: Int64 = 0
  /// Lower-case hexadecimal.
  package var sha256 = ""
  package var transactions: [TransactionMetrics]
  package var endedAt: Timestamp

  package init(
    error: TransferError?, currentRequest: TransferRequest, response: TransferResponse?,
    progress: TaskProgress,
    transactions: [TransactionMetrics], endedAt: Timestamp
  ) {
    self.error = error
    self.currentRequest = currentRequest
    self.response = response
    self.progress = progress
    self.transactions = transactions
    self.endedAt = endedAt
  }
}

/// What a worker needs to carry a task out.
package struct TransferJob: Sendable {
  package var task: TaskID
  package var session: SessionID
  package var sessionType = SessionType.default
  package var configuration: SessionConfiguration
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
  package var resumePoint: ResumePoint?
  /// How many questions were asked about it so far: the next has the next number.
  package var questions = 0
  /// What a job for nobody in particular is for: it is known to its worker only.
  package struct Revalidation: Sendable {
    /// Stored, and asked about.
    package let stored: CachedResponse
    /// What becomes of another that comes in its place.
    package let policy: CacheStoragePolicy
  }
  package var revalidates: Revalidation?
  /// Why it cannot be carried out at all.
  package var fault: TransferError?

  package init(
    task: TaskID, session: SessionID, configuration: SessionConfiguration, kind: TaskKind,
    request: TransferRequest, priority: Double
  ) {
    self.task = task
    self.session = session
    self.configuration = configuration
    self.kind = kind
    self.request = request
    originalURL = request.url
    self.priority = priority
  }
}
