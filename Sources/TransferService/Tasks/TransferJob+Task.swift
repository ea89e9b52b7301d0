internal import EngineAPI
internal import TransferModel

extension TransferJob {
  /// Makes the engine's job for a task.
  /// - Parameter stamp: the stamp of the blobs that the engine writes.
  init(_ task: TransferTask, in session: TransferSession, writing stamp: BlobStamp) {
    precondition(!session.isOutline, "a job needs the whole session, not an outline")
    self.init(
      task: task.id, session: task.sessionID, configuration: session.sharedConfiguration, kind: task.kind,
      request: task.currentRequest, priority: task.priority)
    sessionType = session.type
    if stamp != .none { blob = stamp }
    if session.type != .background, let progress = task.retryProgress { apply(progress, of: task, session) }
    if session.type != .background, let changes = task.startRequest?.changes, changes > 0, let stamp = blob {
      // The bytes of an attempt that a change has stopped are deleted while the next one writes.
      blob = BlobStamp(epoch: stamp.epoch, attempt: stamp.attempt + changes)
    }
    maximumBytesPerSecond = task.maximumBytesPerSecond
    originalURL = task.originalRequest.url
    let delegate = session.delegate(of: task)
    self.delegate = delegate
    // A completion handler replaces the delegate's calls about the response.
    asksForResponses = !task.hasCompletionHandler && delegate?.asksForResponses == true
    asksForCaching = !task.hasCompletionHandler && delegate?.asksForCaching == true
    asksForTrust = delegate?.challengeEvent(for: .serverTrust) != nil
    asksForCertificate = delegate?.challengeEvent(for: .clientCertificate) != nil
    prefersIncrementalDelivery = task.preferences.prefersIncrementalDelivery
    let requirements = task.preferences.requirements
    self.requirements = requirements == ResponseRequirements() ? nil : requirements
    destination = task.destination
    resumePoint = task.startPoint
    if task.hasInvalidResumeData {
      fault = TransferError(
        .unsupportedURL, "the resume data was not created by this service, or was changed")
    }
  }

  /// Applies the rules of an attempt that the service may repeat.
  private mutating func apply(_ progress: RetryProgress, of task: TransferTask, _ session: TransferSession) {
    // The bytes of a failed attempt are deleted while the next one writes.
    if let epoch = blob?.epoch { blob = BlobStamp(epoch: epoch, attempt: progress.attempts) }
    if let left = progress.timeLeft {
      var configuration = sharedConfiguration.value
      configuration.timeoutIntervalForResource = left
      sharedConfiguration = SharedBox(configuration)
    }
    retry = task.preferences.retry ?? session.configuration.retry
  }
}
