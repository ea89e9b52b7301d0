package import TransferModel

/// A task as clients see it: what changes there with what is told of it.
extension TransferTask {
  package func stateEvent(at time: Timestamp) -> TransferEvent {
    TransferEvent(
      .taskDidChangeState, at: time, session: sessionID, task: id,
      .stateChanged(state, phase, shownRetryWait))
  }

  /// A running task does something else now; nothing is told where it does that already.
  mutating func enter(
    _ phase: TaskPhase, at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    if phase != .waitingToRetry { retryWait = nil }
    guard state == .running, activity != phase else { return }
    activity = phase
    turn.tell(stateEvent(at: time), of: self, in: session)
  }

  /// The head of an answer is here: those who wait for it may read on.
  mutating func note(_ response: TransferResponse, _ body: (any BodyToken)?, into turn: inout Turn) {
    self.response = response
    // A part's length is not the whole's, and a HEAD's brings nothing: progress tells.
    if response.status != 206, currentRequest.method != "HEAD" {
      progress.countOfBytesExpectedToReceive = response.expectedContentLength
    }
    if let body { turn.openedBodies.append((id, body)) }
    turn.heads.append(id)
  }

  mutating func note(
    _ counts: TaskProgress, isWatched: Bool, at time: Timestamp, into turn: inout Turn
  ) {
    let sent = counts.countOfBytesSent - progress.countOfBytesSent
    let received = counts.countOfBytesReceived - progress.countOfBytesReceived
    progress = counts
    guard isWatched else { return }
    func tell(_ type: EventType, _ delta: Int64) {
      turn.events.append(
        TransferEvent(type, at: time, session: sessionID, task: id, .progress(counts, delta: delta)))
    }
    if sent > 0 { tell(.taskDidSendBodyData, sent) }
    // What is delivered whole is told when it is whole.
    guard received > 0, preferences.prefersIncrementalDelivery || kind == .download else { return }
    tell(kind == .download ? .downloadTaskDidWriteData : .dataTaskDidReceiveData, received)
  }

  /// urlSession(_:taskIsWaitingForConnectivity:): told once, however often the network goes; never in background sessions.
  mutating func waitForConnectivity(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    enter(.waitingForConnectivity, at: time, session, into: &turn)
    guard session.type != .background, !hasWaitedForConnectivity else { return }
    hasWaitedForConnectivity = true
    turn.tell(.taskIsWaitingForConnectivity, at: time, .none, of: self, in: session)
  }

  mutating func goOn(
    at offset: Int64, of total: Int64, _ time: Timestamp, _ session: borrowing TransferSession,
    into turn: inout Turn
  ) {
    guard kind == .download else {
      // URLSession has no such call for uploads.
      progress.countOfBytesSent = offset
      return
    }
    progress.countOfBytesReceived = offset
    // Where another process takes it up, its clients are told nothing of that; a background task tells of each attempt.
    guard session.type == .background || !hasToldOffset else { return }
    hasToldOffset = true
    turn.tell(
      .downloadTaskDidResumeAtOffset, at: time, .resumed(offset: offset, expectedTotal: total), of: self,
      in: session)
  }

  /// Its date has not come, as far as anybody was told: a clock that was set back does not take back that its delegate was asked.
  func waitsForDate(at now: Now) -> Bool {
    guard !beginning.mayHaveBegun, phase != .waitingForDecision, let date = earliestBeginDate else {
      return false
    }
    return date > now.wall
  }
}

extension Turn {
  /// Replaces a task's current request. The file with a delegate's body goes if the new request has another body. A background task may be
  /// tried again with the request before: its file stays until the next start after its end.
  mutating func replaceRequest(of task: inout TransferTask, with request: TransferRequest) {
    let file = task.replacementBodyKey
    task.currentRequest = request
    if let file, !isCarriedElsewhere, task.replacementBodyKey != file { unwantedBodies.append(file) }
  }
}
