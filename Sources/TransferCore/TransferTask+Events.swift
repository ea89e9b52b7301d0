package import TransferModel

/// The changes of a task that clients see, with their events.
extension TransferTask {
  package func stateEvent(at time: Timestamp) -> TransferEvent {
    TransferEvent(
      .taskDidChangeState, at: time, session: sessionID, task: id,
      .stateChanged(state, phase, shownRetryWait))
  }

  /// Changes the phase of a running task. Emits no event if the phase is the same.
  mutating func enter(
    _ phase: TaskPhase, at time: Timestamp, _ session: borrowing TransferSession,
    into effects: inout SessionEffects
  ) {
    if phase != .waitingToRetry { retryWait = nil }
    guard state == .running, activity != phase else { return }
    activity = phase
    effects.emit(stateEvent(at: time), of: self, in: session)
  }

  /// Records the head of a response, and wakes clients that wait for it.
  mutating func note(
    _ response: TransferResponse, _ body: (any BodyToken)?, into effects: inout SessionEffects
  ) {
    self.response = response
    // The length of a part or of a response to HEAD is not the length of the body. Progress facts supply the length instead.
    if response.status != 206, currentRequest.method != "HEAD" {
      progress.countOfBytesExpectedToReceive = response.expectedContentLength
    }
    if let body {
      effects.openedBodies.append((id, body))
      effects.addTags(of: self)
    }
    effects.respondedTasks.append(id)
  }

  mutating func note(
    _ counts: TaskProgress, isWatched: Bool, at time: Timestamp, into effects: inout SessionEffects
  ) {
    let sent = counts.countOfBytesSent - progress.countOfBytesSent
    let received = counts.countOfBytesReceived - progress.countOfBytesReceived
    progress = counts
    guard isWatched else { return }
    func tell(_ type: EventType, _ delta: Int64) {
      effects.append(
        TransferEvent(type, at: time, session: sessionID, task: id, .progress(counts, delta: delta)), of: self
      )
    }
    if sent > 0 { tell(.taskDidSendBodyData, sent) }
    // Data that is delivered as a whole is reported at the end.
    guard received > 0, preferences.prefersIncrementalDelivery || kind == .download else { return }
    tell(kind == .download ? .downloadTaskDidWriteData : .dataTaskDidReceiveData, received)
  }

  /// urlSession(_:taskIsWaitingForConnectivity:). Emitted once for each task, and never in background sessions.
  mutating func waitForConnectivity(
    at time: Timestamp, _ session: borrowing TransferSession, into effects: inout SessionEffects
  ) {
    enter(.waitingForConnectivity, at: time, session, into: &effects)
    guard session.type != .background, !hasWaitedForConnectivity else { return }
    hasWaitedForConnectivity = true
    effects.emit(.taskIsWaitingForConnectivity, at: time, .none, of: self, in: session)
  }

  mutating func recordResumeOffset(
    at offset: Int64, of total: Int64, _ time: Timestamp, _ session: borrowing TransferSession,
    into effects: inout SessionEffects
  ) {
    guard kind == .download else {
      // URLSession has no such method for uploads.
      progress.countOfBytesSent = offset
      return
    }
    progress.countOfBytesReceived = offset
    // A background task reports each attempt. Other tasks report the first resume only, so that a handover to another service stays
    // invisible.
    guard session.type == .background || !didReportResumeOffset else { return }
    didReportResumeOffset = true
    effects.emit(
      .downloadTaskDidResumeAtOffset, at: time, .resumed(offset: offset, expectedTotal: total), of: self,
      in: session)
  }

  /// Returns whether the task still waits for its begin date. Once the start was announced to a delegate, a clock that is set back changes
  /// nothing.
  func waitsForDate(at now: InputContext) -> Bool {
    guard !firstAttempt.mayHaveBegun, phase != .waitingForDecision, let date = earliestBeginDate else {
      return false
    }
    return date > now.wall
  }
}

extension SessionEffects {
  /// Replaces the task's current request. The file with a delegate's body is deleted if the new request has another body. A task
  /// may be retried with the earlier request, so its file stays until the first start of the service after the task's end.
  mutating func replaceRequest(of task: inout TransferTask, with request: TransferRequest) {
    let file = task.replacementBodyKey
    task.currentRequest = request
    if let file, !runsInWorker, task.retryProgress == nil, task.startRequest == nil,
      task.replacementBodyKey != file
    {
      unwantedBodies.append(file)
    }
  }
}
