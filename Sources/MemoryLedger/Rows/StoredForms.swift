internal import Ledger
internal import TransferModel

// What of these values a row keeps: what a process only knows while it lives is not among it.

extension TransferTask {
  /// As it was created: how far it has come is written when something has come of it.
  var asCreated: TransferTask {
    var task = self
    task.goOn(as: blank)
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

  /// Takes over how far another form of it has come.
  mutating func goOn(as task: TransferTask) {
    lifecycle = task.lifecycle
    currentRequest = task.currentRequest
    response = task.response
    progress = task.progress
    error = task.error
    body = task.body
    partial = task.partial
    partialExpiresAt = task.partialExpiresAt
    downloadTask = task.downloadTask
    retryCount = task.retryCount
    retryWait = task.retryWait
    beginning = task.beginning == .announced ? .notYet : task.beginning
    completedAt = task.completedAt
    activity = task.phase ?? .queued
    hasWaitedForConnectivity = task.hasWaitedForConnectivity
    hasToldOffset = task.hasToldOffset
    place = task.place.goesOn ? task.place : .uncertain
    metrics = nil
  }

  /// Takes over what a client may change of what it asked for.
  mutating func respecify(as task: TransferTask) {
    description = task.description
    priority = task.priority
    earliestBeginDate = task.earliestBeginDate
    maximumBytesPerSecond = task.maximumBytesPerSecond
    preferences = task.preferences
  }
}

extension Decision {
  /// Before somebody answers.
  var asAsked: Decision {
    var decision = self
    (decision.answer, decision.answerTag) = (nil, nil)
    return decision
  }
}

extension WebhookDelivery {
  /// Before it is tried.
  var asQueued: WebhookDelivery {
    var delivery = self
    (delivery.lastStatus, delivery.lastError, delivery.finishedAt) = (nil, nil, nil)
    return delivery
  }

  /// Takes over what came of attempts.
  mutating func goOn(as delivery: WebhookDelivery) {
    state = delivery.state
    attempts = delivery.attempts
    lastAttemptAt = delivery.lastAttemptAt
    nextAttemptAt = delivery.nextAttemptAt
    lastStatus = delivery.lastStatus
    lastError = delivery.lastError
    finishedAt = delivery.finishedAt
  }
}
