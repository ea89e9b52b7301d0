internal import TransferModel

/// What whoever carries the task out tells of it.
extension TaskMachine {
  mutating func take(
    _ fact: TransferFact, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard !isEnding else { return }
    switch fact {
    case .progress(_, let counts, let time):
      progress(counts, isWatched: now.isWatched, at: time, session, into: &turn)
    case .ended(_, let outcome): end(outcome, session, at: now, into: &turn)
    case .keeps(_, let point):
      task.partial = point
      turn.update(task)
    case .authenticated(_, let space, let credential):
      if credential.persistence == .permanent || turn.isCarriedElsewhere {
        turn.credentials.append((space, credential))
      }
    case .asked(_, let number, let question, let time):
      take(question, number, at: time, session, into: &turn)
    case .response(_, let response, let body, let time):
      note(response, body, into: &turn)
      // URLSession does not call it for background uploads.
      if task.kind != .upload || !turn.isCarriedElsewhere {
        tell(.dataTaskDidReceiveResponse, at: time, .response(response), session, into: &turn)
      }
    case .accepted(_, let response): note(response, nil, into: &turn)
    case .willCache(_, let response, let size, let time):
      tell(.dataTaskWillCacheResponse, at: time, .willCache(response, size: size), session, into: &turn)
    case .waitsForConnectivity(_, let time): waitsForConnectivity(at: time, session, into: &turn)
    case .began(_, let time): began(at: time, session, into: &turn)
    case .redirected(_, let response, let request, let time):
      task.currentRequest = request
      // URLSession does not call it in background sessions, where redirects are always followed.
      if session.type != .background {
        tell(
          .taskWillPerformHTTPRedirection, at: time, .redirected(response, to: request), session, into: &turn)
      }
    case .informational(_, let status, let headers, let time):
      tell(
        .taskDidReceiveInformationalResponse, at: time, .informational(status: status, headers: headers),
        session, into: &turn)
    case .resumed(_, let offset, let total, let time):
      resumed(at: offset, of: total, at: time, session, into: &turn)
    }
    // What another process has done is nowhere but here: it must outlive this one, as a suspended task does.
    if turn.isCarriedElsewhere || task.state == .suspended, !isEnding, fact.changesRow { turn.update(task) }
  }

  private mutating func take(
    _ question: TransferQuestion, _ number: Int, at time: Timestamp, _ session: borrowing TransferSession,
    into turn: inout Turn
  ) {
    switch question {
    case .redirect(let response, let proposed):
      task.currentRequest = proposed
      ask(
        .redirect(proposed: proposed), number: number, .taskWillPerformHTTPRedirection,
        .redirected(response, to: proposed), at: time, session, into: &turn)
    case .challenge(let challenge, let type):
      challenged(challenge, number: number, type, at: time, session, into: &turn)
    case .response(let response, let body):
      note(response, body, into: &turn)
      ask(
        .response, number: number, .dataTaskDidReceiveResponse, .response(response), at: time, session,
        into: &turn)
    case .caching(let response, let size):
      ask(
        .caching, number: number, .dataTaskWillCacheResponse, .willCache(response, size: size), at: time,
        session, into: &turn)
    case .bodyStream:
      // What is left of the last one is of no use: the whole is needed again.
      if case .used(let body) = upload {
        turn.droppedUploads.append(body)
        upload = .none
      }
      ask(.bodyStream, number: number, .taskNeedNewBodyStream, .none, at: time, session, into: &turn)
      // The client may be sending already.
      provideBody(session, at: time, into: &turn)
    }
  }

  /// Somebody has to say who the client is, or whom it trusts.
  /// - Parameter number: nil: whoever asks is of an earlier version, and gives none.
  mutating func challenged(
    _ challenge: AuthenticationChallenge, number: Int?, _ type: EventType, at time: Timestamp,
    _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    ask(
      .challenge(challenge.protectionSpace.authenticationMethod), number: number, type,
      .challenged(challenge), at: time, session, into: &turn)
  }

  private mutating func began(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    if case .waitsToRetry = place { place = .carried(nil) }
    if task.startedAt == nil { task.startedAt = time }
    task.wasHandedOver = false
    // An attempt counts for itself: what an earlier one moved is moved again.
    (task.progress.countOfBytesSent, task.progress.countOfBytesReceived) = (0, 0)
    enter(.transferring, at: time, session, into: &turn)
  }

  /// The head of an answer is here: those who wait for it may read on.
  private mutating func note(
    _ response: TransferResponse, _ body: (any BodyToken)?, into turn: inout Turn
  ) {
    task.response = response
    // A part's length is not the whole's, and a HEAD's brings nothing: progress tells.
    if response.status != 206, task.currentRequest.method != "HEAD" {
      task.progress.countOfBytesExpectedToReceive = response.expectedContentLength
    }
    if let body { turn.openedBodies.append((id, body)) }
    turn.heads.append(id)
  }

  private mutating func progress(
    _ counts: TaskProgress, isWatched: Bool, at time: Timestamp, _ session: borrowing TransferSession,
    into turn: inout Turn
  ) {
    let sent = counts.countOfBytesSent - task.progress.countOfBytesSent
    let received = counts.countOfBytesReceived - task.progress.countOfBytesReceived
    task.progress = counts
    guard isWatched else { return }
    if sent > 0 {
      turn.events.append(event(.taskDidSendBodyData, at: time, .progress(counts, delta: sent)))
    }
    // What is delivered whole is told when it is whole.
    guard received > 0, task.preferences.prefersIncrementalDelivery || task.kind == .download else { return }
    let type: EventType = task.kind == .download ? .downloadTaskDidWriteData : .dataTaskDidReceiveData
    turn.events.append(event(type, at: time, .progress(counts, delta: received)))
  }

  /// urlSession(_:taskIsWaitingForConnectivity:): told once, however often the network goes; never in background sessions.
  private mutating func waitsForConnectivity(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    enter(.waitingForConnectivity, at: time, session, into: &turn)
    guard session.type != .background, !task.hasWaitedForConnectivity else { return }
    task.hasWaitedForConnectivity = true
    tell(.taskIsWaitingForConnectivity, at: time, .none, session, into: &turn)
  }

  private mutating func resumed(
    at offset: Int64, of total: Int64, at time: Timestamp, _ session: borrowing TransferSession,
    into turn: inout Turn
  ) {
    guard task.kind == .download else {
      // URLSession has no such call for uploads.
      task.progress.countOfBytesSent = offset
      return
    }
    task.progress.countOfBytesReceived = offset
    tell(
      .downloadTaskDidResumeAtOffset, at: time, .resumed(offset: offset, expectedTotal: total), session,
      into: &turn)
  }
}

extension TransferFact {
  /// The row of a task that outlives the service says so as well.
  fileprivate var changesRow: Bool {
    switch self {
    case .progress, .authenticated, .willCache, .accepted: false
    default: true
    }
  }
}
