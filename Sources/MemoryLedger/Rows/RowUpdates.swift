internal import Ledger
internal import TransferModel

// The members that a row stores. State that a process has only in memory is not among them.

extension TransferTask {
  /// The task as it was created. Its progress is stored with the first update.
  var asCreated: TransferTask {
    var task = self
    task.update(as: blank)
    task.lifecycle = lifecycle
    return task
  }

  private var blank: TransferTask {
    var specification = TaskSpecification(kind: kind, request: originalRequest)
    specification.isAwaited = isAwaited
    return TransferTask(
      id: id, sessionID: sessionID, taskIdentifier: taskIdentifier, createdAt: createdAt,
      specification: specification)
  }

  /// Copies the members that change while the task runs.
  mutating func update(as task: TransferTask) {
    lifecycle = task.lifecycle
    (currentRequest, startRequest) = (task.currentRequest, task.startRequest)
    response = task.response
    progress = task.progress
    error = task.error
    (body, placement) = (task.body, task.placement)
    partial = task.partial
    partialExpiresAt = task.partialExpiresAt
    downloadTask = task.downloadTask
    retryCount = task.retryCount
    retryWait = task.retryWait
    retryProgress = task.retryProgress
    retryProgress?.timeLeft = nil
    firstAttempt = task.firstAttempt == .announced ? .notStarted : task.firstAttempt
    completedAt = task.completedAt
    activity = task.phase ?? .queued
    hasWaitedForConnectivity = task.hasWaitedForConnectivity
    didReportResumeOffset = task.didReportResumeOffset
    executionState = task.executionState.goesOn ? task.executionState : .unconfirmed
    metrics = nil
  }

  /// Copies the members that a client may edit.
  mutating func applyEdits(as task: TransferTask) {
    description = task.description
    priority = task.priority
    earliestBeginDate = task.earliestBeginDate
    maximumBytesPerSecond = task.maximumBytesPerSecond
    preferences = task.preferences
  }
}

extension Decision {
  /// The decision before it is answered.
  var asAsked: Decision {
    var decision = self
    (decision.answer, decision.answerTag) = (nil, nil)
    return decision
  }
}

extension WebhookDelivery {
  /// Copies the results of attempts.
  mutating func update(as delivery: WebhookDelivery) {
    state = delivery.state
    place = delivery.place
    schedulePlace = delivery.schedulePlace
    restore(delivery.attempts, count: delivery.attemptCount)
    lastAttemptAt = delivery.lastAttemptAt
    nextAttemptAt = delivery.nextAttemptAt
    finishedAt = delivery.finishedAt
  }
}
