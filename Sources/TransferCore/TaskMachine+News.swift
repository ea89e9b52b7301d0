internal import TransferModel

/// What is told of the task by whoever carries it out, and what the process that carries background tasks out does by itself.
extension TaskMachine {
  mutating func take(
    _ news: News, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    switch news {
    case .fact(let fact): take(fact, session, at: now, into: &turn)
    case .retries(_, let count, let time, let wait): retries(count, wait, at: time, session, into: &turn)
    case .beganDelayed(_, let time): beganDelayed(at: time, session, into: &turn)
    case .wasTakenOver(_, let time): wasTakenOver(at: time, session, into: &turn)
    }
  }

  /// An attempt failed; there will be another.
  private mutating func retries(
    _ count: Int, _ wait: RetryWait, at time: Timestamp, _ session: borrowing TransferSession,
    into turn: inout Turn
  ) {
    settle(.withdrawn, session, at: time, into: &turn)
    place = .waitsToRetry
    task.retryCount = count
    task.retryWait = wait
    task.enter(.waitingToRetry, at: time, session, into: &turn)
    turn.update(task)
  }

  private mutating func beganDelayed(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    // It waited for the date, after whatever it waited for before.
    place.goOn()
    task.enter(.queued, at: time, session, into: &turn)
    turn.tell(.taskWillBeginDelayedRequest, at: time, .delayed(task.currentRequest), of: task, in: session)
    turn.update(task)
  }

  /// Whoever asked is gone, and will ask again.
  private mutating func wasTakenOver(
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    settle(.withdrawn, session, at: time, into: &turn)
    place.goOn()
    task.enter(.queued, at: time, session, into: &turn)
    turn.update(task)
  }
}
