internal import HTTPCookies
internal import Ledger
internal import TransferCore
internal import TransferModel

/// What that process has to tell of its tasks: the engine's facts, and what it has done by itself. A row of the store, sealed.
enum WorkerNews: WorkerContent {
  case began(TaskID, at: Timestamp)
  case redirected(TaskID, TransferResponse, to: TransferRequest, at: Timestamp)
  case informational(TaskID, status: Int, headers: HTTPHeaders, at: Timestamp)
  case response(TaskID, TransferResponse, at: Timestamp)
  case waitsForConnectivity(TaskID, at: Timestamp)
  /// - Parameter question: its number among the task's.
  case challenged(TaskID, AuthenticationChallenge, EventType, at: Timestamp, question: Int)
  case resumed(TaskID, offset: Int64, expectedTotal: Int64, at: Timestamp)
  case authenticated(TaskID, ProtectionSpace, Credential)
  case progress(TaskID, TaskProgress, at: Timestamp)
  case ended(TaskID, TransferOutcome)
  /// An attempt failed; there will be another.
  case retries(TaskID, count: Int, at: Timestamp, wait: RetryWait)
  /// Its begin date has come.
  case beganDelayed(TaskID, at: Timestamp)
  /// Whoever carried it out is gone, and it goes on from what is on the disk.
  case wasTakenOver(TaskID, at: Timestamp)
  case changedCookies(SessionID, [CookieJar.Change])
  /// So many documents of another version are left in the store, and their tasks with them.
  case refused(count: Int)

  /// nil where nobody outside has to know.
  init?(_ fact: TransferFact) {
    switch fact {
    case .began(let task, let time): self = .began(task, at: time)
    case .redirected(let task, let response, let request, let time):
      self = .redirected(task, response, to: request, at: time)
    case .informational(let task, let status, let headers, let time):
      self = .informational(task, status: status, headers: headers, at: time)
    case .response(let task, let response, _, let time): self = .response(task, response, at: time)
    case .waitsForConnectivity(let task, let time): self = .waitsForConnectivity(task, at: time)
    case .asked(let task, let number, .challenge(let challenge, let type), let time):
      self = .challenged(task, challenge, type, at: time, question: number)
    case .resumed(let task, let offset, let total, let time):
      self = .resumed(task, offset: offset, expectedTotal: total, at: time)
    case .authenticated(let task, let space, let credential): self = .authenticated(task, space, credential)
    case .progress(let task, let progress, let time): self = .progress(task, progress, at: time)
    case .ended(let task, let outcome): self = .ended(task, outcome)
    // Background tasks ask about nothing else, and store nothing in a cache. A download's response is told with its end.
    case .asked, .willCache, .keeps, .accepted: return nil
    }
  }

  /// nil where nobody outside has to know.
  init?(_ news: News) {
    switch news {
    case .fact(let fact): self.init(fact)
    case .retries(let task, let count, let time, let wait):
      self = .retries(task, count: count, at: time, wait: wait)
    case .beganDelayed(let task, let time): self = .beganDelayed(task, at: time)
    case .wasTakenOver(let task, let time): self = .wasTakenOver(task, at: time)
    }
  }

  /// The engine's own fact; nil for what the process has done by itself.
  var fact: TransferFact? {
    switch self {
    case .began(let task, let time): .began(task, at: time)
    case .redirected(let task, let response, let request, let time):
      .redirected(task, response, to: request, at: time)
    case .informational(let task, let status, let headers, let time):
      .informational(task, status: status, headers: headers, at: time)
    case .response(let task, let response, let time): .response(task, response, nil, at: time)
    case .waitsForConnectivity(let task, let time): .waitsForConnectivity(task, at: time)
    case .resumed(let task, let offset, let total, let time):
      .resumed(task, offset: offset, expectedTotal: total, at: time)
    case .authenticated(let task, let space, let credential): .authenticated(task, space, credential)
    case .progress(let task, let progress, let time): .progress(task, progress, at: time)
    case .ended(let task, let outcome): .ended(task, outcome)
    case .challenged(let task, let challenge, let type, let time, let number):
      .asked(task, number, .challenge(challenge, type), at: time)
    case .retries, .beganDelayed, .wasTakenOver, .changedCookies, .refused: nil
    }
  }

  /// The next says how far it is.
  var isPassing: Bool { if case .progress = self { true } else { false } }
}

extension StoreChange {
  /// Tells the service, behind what was told before.
  mutating func tell(_ news: WorkerNews) { self.news.append(WorkerDocument.encode(news)) }
}
