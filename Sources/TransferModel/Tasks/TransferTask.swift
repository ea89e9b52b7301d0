/// What a task does with the bytes (URLSessionDataTask, URLSessionDownloadTask, URLSessionUploadTask).
package enum TaskKind: String, Sendable, CaseIterable {
  case data, download, upload
}

/// Byte counts as URLSessionTask has them; -1 where the total is not known.
package struct TaskProgress: Sendable, Equatable {
  package var countOfBytesSent: Int64 = 0
  package var countOfBytesExpectedToSend: Int64 = 0
  package var countOfBytesReceived: Int64 = 0
  package var countOfBytesExpectedToReceive: Int64 = -1
  package init() {}
}

/// What a finished task left to be fetched.
package struct TaskBody: Sendable, Equatable {
  package var size: Int64
  /// Lower-case hexadecimal.
  package var sha256: String
  package var expiresAt: Timestamp
  /// Who has written it; nil: it is under the task's name alone, or in its row.
  package var blob: BlobStamp?
  package init(size: Int64, sha256: String, expiresAt: Timestamp, blob: BlobStamp? = nil) {
    self.size = size
    self.sha256 = sha256
    self.expiresAt = expiresAt
    self.blob = blob
  }
}

/// What a client asks for when it creates a task.
package struct TaskSpecification: Sendable {
  package var kind: TaskKind
  package var request: TransferRequest
  package var resume = false
  package static let defaultPriority = 0.5
  package var priority = TaskSpecification.defaultPriority
  package var description: String?
  package var completion: Webhook?
  /// The client that creates it waits for its end: the reply is its completion handler.
  package var isAwaited = false
  package var earliestBeginDate: Timestamp?
  package var maximumBytesPerSecond: Int?
  package var preferences = TaskPreferences()
  /// It yields to others, whatever its session says.
  package var isDiscretionary = false
  /// Where a download goes on.
  package var resumePoint: ResumePoint?
  /// The resume data that came with it is not this service's: it ends as soon as it runs.
  package var hasInvalidResumeData = false

  package init(kind: TaskKind, request: TransferRequest) {
    self.kind = kind
    self.request = request
  }
}

/// One task of a session (URLSessionTask), as far as it has come.
package struct TransferTask: Sendable, Equatable {
  package let id: TaskID
  package let sessionID: SessionID
  /// Counts from 1 in its session.
  package let taskIdentifier: Int
  package let kind: TaskKind
  package let createdAt: Timestamp
  @Indirect package private(set) var originalRequest: TransferRequest
  @IndirectIfAny package private(set) var completion: Webhook?
  @IndirectIfAny package private(set) var resumePoint: ResumePoint?
  /// nil: as they are by default, which most have.
  @IndirectIfAny private var ownPreferences: TaskPreferences?
  package var description: String?
  package var priority: Double
  /// Not sent before then.
  package var earliestBeginDate: Timestamp?
  /// Bytes per second; nil: no limit of its own.
  package var maximumBytesPerSecond: Int?

  package var lifecycle: TaskLifecycle
  /// The last phase that clients were told. It counts only while the task runs.
  package var activity = TaskPhase.queued
  @Indirect package var currentRequest: TransferRequest
  @IndirectIfAny package var response: TransferResponse?
  package var progress = TaskProgress()
  @IndirectIfAny package var error: TransferError?
  @IndirectIfAny package var body: TaskBody?
  /// What a failed or cancelled download left to go on from.
  @IndirectIfAny package var partial: ResumePoint?
  /// Until when that is kept.
  package var partialExpiresAt: Timestamp?
  /// The download that a data task became.
  package var downloadTask: TaskID?
  @IndirectIfAny package var metrics: TaskMetrics?
  // Beside each other: by itself a flag would take a word.
  package let hasInvalidResumeData: Bool
  package let isAwaited: Bool
  /// It was created in a background session to which no client listened, and is treated as discretionary (Apple,
  /// URLSessionConfiguration.isDiscretionary).
  package let isDiscretionary: Bool
  /// Its delegate was told so.
  package var hasWaitedForConnectivity = false
  /// Its delegate was told at which offset the download goes on.
  package var hasToldOffset = false
  package var place = TaskPlace.uncertain
  /// nil: no attempt has failed, as of most tasks.
  @IndirectIfAny private var retries: Retries?
  package var beginning = TaskBeginning.notYet
  package var completedAt: Timestamp?

  package init(
    id: TaskID, sessionID: SessionID, taskIdentifier: Int, createdAt: Timestamp,
    specification: TaskSpecification
  ) {
    self.id = id
    self.sessionID = sessionID
    self.taskIdentifier = taskIdentifier
    self.createdAt = createdAt
    kind = specification.kind
    _originalRequest = Indirect(wrappedValue: specification.request)
    _currentRequest = _originalRequest  // one value on the heap, until the request is another
    completion = specification.completion
    isAwaited = specification.isAwaited
    description = specification.description
    priority = specification.priority
    earliestBeginDate = specification.earliestBeginDate
    maximumBytesPerSecond = specification.maximumBytesPerSecond
    resumePoint = specification.resumePoint
    hasInvalidResumeData = specification.hasInvalidResumeData
    isDiscretionary = specification.isDiscretionary
    lifecycle = TaskLifecycle()
    progress.countOfBytesExpectedToSend = specification.request.bodyLength
    preferences = specification.preferences
  }

  /// The specification of the task, without request bodies that were deleted.
  package var specification: TaskSpecification {
    var specification = TaskSpecification(kind: kind, request: originalRequest)
    specification.completion = completion
    specification.isAwaited = isAwaited
    specification.description = description
    specification.priority = priority
    specification.earliestBeginDate = earliestBeginDate
    specification.maximumBytesPerSecond = maximumBytesPerSecond
    specification.resumePoint = resumePoint
    specification.hasInvalidResumeData = hasInvalidResumeData
    specification.isDiscretionary = isDiscretionary
    specification.preferences = preferences
    return specification
  }

  package var state: TaskState { lifecycle.state }
  package var startedAt: Timestamp? { beginning.startedAt }

  /// The activity of a running task; otherwise nil.
  package var phase: TaskPhase? { state == .running ? activity : nil }

  /// The phase of a running task that waits for nothing.
  package var usualPhase: TaskPhase { startedAt == nil ? .queued : .transferring }

  /// Attempts that failed and were followed by another.
  package var retryCount: Int {
    get { retries?.count ?? 0 }
    set { retries = Retries(count: newValue, wait: retryWait) }
  }

  /// Why and until when the next attempt waits; nil from its begin on.
  package var retryWait: RetryWait? {
    get { retries?.wait }
    set { retries = Retries(count: retryCount, wait: newValue) }
  }

  private struct Retries: Sendable, Equatable {
    var count: Int
    var wait: RetryWait?

    init?(count: Int, wait: RetryWait?) {
      guard count > 0 || wait != nil else { return nil }
      (self.count, self.wait) = (count, wait)
    }
  }

  /// The wait that clients see: only while the task is in phase `waitingToRetry`.
  package var shownRetryWait: RetryWait? { phase == .waitingToRetry ? retryWait : nil }

  /// As lists show it.
  package var listed: TransferTask {
    guard completion != nil || ownPreferences?.delegate?.webhook != nil else { return self }
    var task = self
    task.completion = completion?.listed
    task.ownPreferences?.delegate = ownPreferences?.delegate?.listed
    return task
  }

  /// URLSession's convenience tasks: a completion handler takes the calls about the response and the end over from the delegate.
  package var hasCompletionHandler: Bool { isAwaited || completion != nil }

  package var preferences: TaskPreferences {
    get { ownPreferences ?? TaskPreferences(of: kind) }
    set {
      var preferences = newValue
      if kind == .download { preferences.prefersIncrementalDelivery = false }
      ownPreferences = preferences == TaskPreferences(of: kind) ? nil : preferences
    }
  }

  /// The request that it was created with is the one that it is at.
  package var isAtOriginalRequest: Bool { _currentRequest == _originalRequest }

  /// The bytes that its requests were to send go; that there were some is still known.
  package mutating func forgetRequestBody() {
    originalRequest.body?.forget()
    currentRequest.body?.forget()
  }

  /// The task stays, without what it left.
  package mutating func forgetBody() {
    body = nil
    partial = nil
    partialExpiresAt = nil
    error?.resumeDataAvailable = false
  }

  /// Until when a finished task's body, or what it can go on from, is kept; nil where there is neither.
  package var keptUntil: Timestamp? {
    guard state == .completed else { return nil }
    return body?.expiresAt ?? (partial == nil ? nil : partialExpiresAt)
  }

  /// Bytes of that.
  package var keptBytes: Int64 {
    if let body { return body.size }
    guard let point = partial?.download, point.source == id else { return 0 }
    return point.partial.offset
  }
}
