internal import TransferModel

/// What whoever carries the task out tells of it.
extension TaskMachine {
  mutating func take(
    _ fact: TransferFact, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard !isEnding else { return }
    if case .leaving = place, fact.isAnswered { return }
    switch fact {
    case .progress(_, let counts, let time):
      task.note(counts, isWatched: now.isWatched, at: time, into: &turn)
    case .ended(_, var outcome):
      if case .leaving = place, task.state != .canceling, outcome.error?.reason == .url(.cancelled) {
        guard !task.goOnElsewhere(from: outcome) else {
          place = .idle(goesOn: task.state == .running)
          return turn.update(task)
        }
        outcome.endAsInterrupted()
      }
      end(outcome, session, at: now, into: &turn)
    case .keeps(_, let point):
      task.partial = point
      turn.update(task)
    case .authenticated(_, let space, let credential):
      if turn.isCarriedElsewhere { turn.credentials.append((space, credential)) }
    case .asked(_, let number, let question, let time):
      take(question, number, at: time, session, into: &turn)
    case .response(_, let response, let body, let time):
      task.note(response, body.token, into: &turn)
      // URLSession does not call it for background uploads.
      if task.kind != .upload || !turn.isCarriedElsewhere {
        turn.tell(.dataTaskDidReceiveResponse, at: time, .response(response), of: task, in: session)
      }
    case .accepted(_, let response): task.note(response, nil, into: &turn)
    case .willCache(_, let response, let size, let time):
      turn.tell(.dataTaskWillCacheResponse, at: time, .willCache(response, size: size), of: task, in: session)
    case .waitsForConnectivity(_, let time):
      task.waitForConnectivity(at: time, session, into: &turn)
    case .began(_, let time): began(at: time, session, into: &turn)
    case .redirected(_, let response, let request, let time):
      turn.replaceRequest(of: &task, with: request)
      // URLSession does not call it in background sessions, where redirects are always followed.
      if session.type != .background {
        turn.tell(
          .taskWillPerformHTTPRedirection, at: time, .redirected(response, to: request), of: task, in: session
        )
      }
    case .notified(_, let notification, let time):
      turn.tell(notification.type, at: time, .notification(notification), of: task, in: session)
    case .resumed(_, let offset, let total, let time):
      task.goOn(at: offset, of: total, time, session, into: &turn)
    case .retries(_, let count, let time, let wait): retries(count, wait, at: time, session, into: &turn)
    case .beganDelayed(_, let time): beganDelayed(at: time, session, into: &turn)
    case .wasTakenOver(_, let time): wasTakenOver(at: time, session, into: &turn)
    }
    // What another process has done is nowhere but here: it must outlive this one, as a suspended task does.
    if turn.isCarriedElsewhere || task.state == .suspended, !isEnding, fact.changesRow {
      turn.update(task)
    }
  }

  mutating func take(
    _ question: TransferQuestion, _ number: Int, at time: Timestamp, _ session: borrowing TransferSession,
    into turn: inout Turn
  ) {
    switch question {
    case .redirect(let response, let proposed):
      turn.replaceRequest(of: &task, with: proposed)
      ask(
        .redirect(proposed: proposed), number: number, .taskWillPerformHTTPRedirection,
        .redirected(response, to: proposed), at: time, session, into: &turn)
    case .challenge(let challenge, let type):
      ask(
        .challenge(challenge.protectionSpace.authenticationMethod), number: number, type,
        .challenged(challenge), at: time, session, into: &turn)
    case .response(let response, let body):
      task.note(response, body.token, into: &turn)
      ask(
        .response, number: number, .dataTaskDidReceiveResponse, .response(response), at: time, session,
        into: &turn)
    case .caching(let response, let size):
      ask(
        .caching, number: number, .dataTaskWillCacheResponse, .willCache(response, size: size), at: time,
        session, into: &turn)
    case .bodyStream:
      // What is left of the last one is of no use: the whole is needed again.
      if let body = upload.dropUsed() { turn.droppedUploads.append(body) }
      ask(.bodyStream, number: number, .taskNeedNewBodyStream, .none, at: time, session, into: &turn)
      // The client may be sending already.
      provideBody(session, at: time, into: &turn)
    }
  }

  private mutating func began(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    task.beginning.start(at: time)
    // An attempt counts for itself: what an earlier one moved is moved again.
    (task.progress.countOfBytesSent, task.progress.countOfBytesReceived) = (0, 0)
    task.enter(.transferring, at: time, session, into: &turn)
  }

  // MARK: The worker

  private mutating func retries(
    _ count: Int, _ wait: RetryWait, at time: Timestamp, _ session: borrowing TransferSession,
    into turn: inout Turn
  ) {
    settle(.withdrawn, session, at: time, into: &turn)
    task.retryCount = count
    task.retryWait = wait
    task.enter(.waitingToRetry, at: time, session, into: &turn)
  }

  private mutating func beganDelayed(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    // The task waited for the date last, after whatever else it waited for.
    task.enter(.queued, at: time, session, into: &turn)
    turn.tell(.taskWillBeginDelayedRequest, at: time, .delayed(task.currentRequest), of: task, in: session)
  }

  /// The attempt that asked is gone, and the next one will ask again.
  private mutating func wasTakenOver(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    settle(.withdrawn, session, at: time, into: &turn)
    task.enter(.queued, at: time, session, into: &turn)
  }
}

extension TransferFact {
  /// Whoever tells it waits for an answer.
  fileprivate var isAnswered: Bool { if case .asked = self { true } else { false } }

  /// Whether the row of a background or suspended task is written again.
  fileprivate var changesRow: Bool {
    switch self {
    case .progress, .authenticated, .willCache, .accepted, .notified: false
    case .began, .redirected, .response, .waitsForConnectivity, .asked, .resumed, .keeps,
      .ended, .retries, .beganDelayed, .wasTakenOver:
      true
    }
  }
}
