package import JSON

/// The kind of a task (URLSessionDataTask, URLSessionDownloadTask, URLSessionUploadTask).
package enum TaskKind: String, Sendable, CaseIterable {
  case data, download, upload
}

/// The byte counts of URLSessionTask; -1 for an unknown total.
package struct TaskProgress: Sendable, Equatable {
  package var countOfBytesSent: Int64 = 0
  package var countOfBytesExpectedToSend: Int64 = 0
  package var countOfBytesReceived: Int64 = 0
  package var countOfBytesExpectedToReceive: Int64 = -1
  package init() {}
}

/// The body of a finished task, which clients can fetch.
package struct TaskBody: Sendable, Equatable {
  package var size: Int64
  /// Lower-case hexadecimal.
  package var sha256: String
  /// `nil` if the body never expires, because it is a file that belongs to the client.
  package var expiresAt: Timestamp?
  /// The writer of the file; `nil` if the file's name is the task's id alone, or if the body is in the row.
  package var blob: BlobStamp?
  /// The file at the task's destination; `nil` if Ferry stores the body.
  package var placed: PlacedFile?
  package init(
    size: Int64, sha256: String, expiresAt: Timestamp?, blob: BlobStamp? = nil, placed: PlacedFile? = nil
  ) {
    self.size = size
    self.sha256 = sha256
    self.expiresAt = expiresAt
    self.blob = blob
    self.placed = placed
  }
}

/// The properties with which a client creates a task.
package struct TaskSpecification: Sendable {
  package var kind: TaskKind
  package var request: TransferRequest
  package var resume = false
  package static let defaultPriority = 0.5
  package var priority = TaskSpecification.defaultPriority
  package var description: String?
  package var completion: Webhook?
  /// Whether the creating client waits for the end, so that the reply serves as its completion handler.
  package var isAwaited = false
  package var earliestBeginDate: Timestamp?
  package var maximumBytesPerSecond: Int?
  package var preferences = TaskPreferences()
  /// Whether the task yields to others, regardless of its session.
  package var isDiscretionary = false
  /// The point from which a download resumes.
  package var resumePoint: ResumePoint?
  /// The whole body that an earlier task has received, so that only the move to the destination remains.
  package var received: TransferOutcome?
  /// Whether the resume data of the request was not from this service. Such a task fails as soon as it runs.
  package var hasInvalidResumeData = false

  package init(kind: TaskKind, request: TransferRequest) {
    self.kind = kind
    self.request = request
  }
}

/// A task of a session (URLSessionTask), in its current state.
package struct TransferTask: Sendable, Equatable {
  package let id: TaskID
  package let sessionID: SessionID
  /// Counts from 1 in its session.
  package let taskIdentifier: Int
  package let kind: TaskKind
  package let createdAt: Timestamp
  @Indirect package private(set) var originalRequest: TransferRequest
  @IndirectOptional package private(set) var completion: Webhook?
  @IndirectOptional package private(set) var resumePoint: ResumePoint?
  /// `nil` for the defaults, which most tasks have.
  @IndirectOptional private var ownPreferences: TaskPreferences?
  package var description: String?
  package var priority: Double
  /// The earliest time at which the request may be sent.
  package var earliestBeginDate: Timestamp?
  /// Bytes per second; `nil` if the task has no limit of its own.
  package var maximumBytesPerSecond: Int?

  package var lifecycle: TaskLifecycle
  /// The last phase that clients were notified of. It is meaningful only while the task runs.
  package var activity = TaskPhase.queued
  @Indirect package var currentRequest: TransferRequest
  @IndirectOptional package var response: TransferResponse?
  package var progress = TaskProgress()
  @IndirectOptional package var error: TransferError?
  @IndirectOptional package var body: TaskBody?
  /// The partial body of a failed or cancelled download.
  @IndirectOptional package var partial: ResumePoint?
  /// The expiry of the partial body.
  package var partialExpiresAt: Timestamp?
  /// The download that this data task became.
  package var downloadTask: TaskID?
  @IndirectOptional package var metrics: TaskMetrics?
  // These flags are adjacent, because a separate flag would take a word.
  package let hasInvalidResumeData: Bool
  package let isAwaited: Bool
  /// Whether the task was created in a background session without open event streams. Such a task is treated as discretionary (Apple,
  /// URLSessionConfiguration.isDiscretionary).
  package let isDiscretionary: Bool
  /// Whether the delegate was notified that the task waits for connectivity.
  package var hasWaitedForConnectivity = false
  /// Whether the delegate was notified of the offset at which the download resumes.
  package var didReportResumeOffset = false
  package var executionState = TaskExecutionState.unconfirmed
  /// `nil` if no attempt has failed or may be retried, the request was not replaced, and no body is being placed, as for most tasks.
  @IndirectOptional private var retries: Retries?
  package var firstAttempt = FirstAttemptState.notStarted
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
    _currentRequest = _originalRequest  // one shared value, until the request changes
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
    placement = specification.received.map { PendingPlacement(outcome: $0) }
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
  package var startedAt: Timestamp? { firstAttempt.startedAt }

  /// The activity of a running task; otherwise `nil`.
  package var phase: TaskPhase? { state == .running ? activity : nil }

  /// The phase of a running task that waits for nothing.
  package var usualPhase: TaskPhase { startedAt == nil ? .queued : .transferring }

  /// The number of failed attempts that were followed by another.
  package var retryCount: Int {
    get { retries?.count ?? 0 }
    set { changeRetries { $0.count = newValue } }
  }

  /// The reason and the end of the wait for the next attempt; `nil` once the attempt has begun.
  package var retryWait: RetryWait? {
    get { retries?.wait }
    set { if newValue != nil || retries != nil { changeRetries { $0.wait = newValue } } }
  }

  /// The attempts of an unfinished task that the service retries; `nil` before the first.
  package var retryProgress: RetryProgress? {
    get { retries?.progress }
    set { if newValue != nil || retries != nil { changeRetries { $0.progress = newValue } } }
  }

  /// `nil` if attempts begin with the original request, as for most tasks.
  package var startRequest: StartRequest? {
    get { retries?.start }
    set { if newValue != nil || retries != nil { changeRetries { $0.start = newValue } } }
  }

  /// The received body that is about to become the file of the task's destination.
  package var placement: PendingPlacement? {
    get { retries?.placement }
    set { if newValue != nil || retries != nil { changeRetries { $0.placement = newValue } } }
  }

  private struct Retries: Sendable, Equatable {
    var count = 0
    var wait: RetryWait?
    var progress: RetryProgress?
    @IndirectOptional var start: StartRequest?
    @IndirectOptional var placement: PendingPlacement?

    var isEmpty: Bool {
      count == 0 && wait == nil && progress == nil && start == nil && placement == nil
    }
  }

  private mutating func changeRetries(_ change: (inout Retries) -> Void) {
    var changed = retries ?? Retries()
    change(&changed)
    retries = changed.isEmpty ? nil : changed
  }

  /// The wait that clients see: only while the task is in phase `waitingToRetry`.
  package var shownRetryWait: RetryWait? { phase == .waitingToRetry ? retryWait : nil }

  /// The task as lists show it.
  package var listItem: TransferTask {
    guard completion != nil || ownPreferences?.delegate?.webhook != nil else { return self }
    var task = self
    task.completion = completion?.listed
    task.ownPreferences?.delegate = ownPreferences?.delegate?.listed
    return task
  }

  /// Whether the task has a completion handler, which receives the calls about the response and the end instead of the delegate.
  package var hasCompletionHandler: Bool { isAwaited || completion != nil }

  /// The name of the task's group; `nil` for most tasks.
  package var group: String? { ownPreferences?.group }
  package var labels: [TaskLabel] { ownPreferences?.labels ?? [] }
  /// `nil` for most tasks.
  package var destination: Destination? { ownPreferences?.destination }

  /// Writes the group and the labels, if the task has any.
  package func encodeGroup(into writer: inout JSONWriter) { ownPreferences?.encodeGroup(into: &writer) }

  package var preferences: TaskPreferences {
    get { ownPreferences ?? TaskPreferences(of: kind) }
    set {
      var preferences = newValue
      if kind == .download { preferences.prefersIncrementalDelivery = false }
      ownPreferences = preferences == TaskPreferences(of: kind) ? nil : preferences
    }
  }

  /// The request that an attempt begins with, before its redirects.
  package var submittedRequest: TransferRequest { startRequest?.request ?? originalRequest }

  /// The request that a repetition of the task uses. A change by the client counts, but not a request that the delegate has supplied,
  /// because the delegate is asked again.
  package var requestToRepeat: TransferRequest { hasChangedRequest ? submittedRequest : originalRequest }

  private var hasChangedRequest: Bool { startRequest.map { $0.changes > 0 } ?? false }

  /// The point from which the next attempt continues.
  package var startPoint: ResumePoint? {
    if let partial { return partial }
    return hasChangedRequest && submittedRequest.url != originalRequest.url ? resumePoint?.moved : resumePoint
  }

  /// Applies a client's change of the request.
  package mutating func apply(_ change: RequestChange) {
    var start = startRequest ?? StartRequest(originalRequest)
    if change.url != start.request.url { partial = partial?.moved }
    start.request = change.applied(to: start.request)
    start.changes += 1
    startRequest = start
    currentRequest = start.request
  }

  /// Whether the current request is still the original one.
  package var isAtOriginalRequest: Bool { _currentRequest == _originalRequest }

  /// Deletes the bytes of request bodies. The requests still show that they had bodies.
  package mutating func dropRequestBody() {
    originalRequest.body?.forget()
    currentRequest.body?.forget()
    startRequest?.request.body?.forget()
  }

  /// Deletes the body and the partial body, but keeps the task.
  package mutating func forgetBody() {
    body = nil
    partial = nil
    partialExpiresAt = nil
    error?.resumeDataAvailable = false
  }

  /// The expiry of a finished task's body or partial body; `nil` if it has neither.
  package var keptUntil: Timestamp? {
    guard state == .completed else { return nil }
    if let body { return body.expiresAt }
    return partial == nil ? nil : partialExpiresAt
  }

  /// The bytes of the body or partial body.
  package var keptBytes: Int64 {
    if let body { return body.placed == nil ? body.size : 0 }
    guard let point = partial?.download, point.source == id else { return 0 }
    return point.partial.offset
  }
}
