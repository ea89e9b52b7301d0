internal import TransferEngine
internal import TransferModel

/// The sessions and the unfinished tasks, as they are now. A plain value; `TransferService` locks it.
struct TransferRegistry {
  struct SessionEntry {
    var session: TransferSession
    var lastIdentifier: Int
    /// Tasks that have not ended, those being created included.
    var unfinished = 0
  }
  /// A decision that waits, with what only the process knows of it.
  struct Question {
    enum Kind {
      case redirect(proposed: TransferRequest)
      case challenge(AuthenticationMethod)
      case response
      case caching
      case bodyStream
      case delayedRequest
    }
    let decision: Decision
    let kind: Kind

    /// A handshake waits, with its connection and its place.
    var isOnWire: Bool {
      if case .challenge(.serverTrust) = kind { return true }
      if case .challenge(.clientCertificate) = kind { return true }
      return false
    }
  }
  /// What a client sends for a task that streams its body.
  enum Upload: Equatable {
    case none
    /// The client is ready; the task has not asked yet.
    case ready(UploadStream)
    case used(UploadStream)

    static func == (left: Upload, right: Upload) -> Bool {
      switch (left, right) {
      case (.none, .none): true
      case (.ready(let left), .ready(let right)), (.used(let left), .used(let right)): left === right
      default: false
      }
    }
    var stream: UploadStream? {
      switch self {
      case .none: nil
      case .ready(let stream), .used(let stream): stream
      }
    }
  }
  struct TaskEntry {
    var task: TransferTask
    /// The engine knows it.
    var isSubmitted = false
    /// Its begin date has come and was told.
    var hasBegun = false
    /// An attempt has failed, and the next has not begun.
    var waitsToRetry = false
    /// It has ended; the commit that says so is under way.
    var isEnding = false
    var question: Question?
    var upload = Upload.none
    var waiters: [UInt64: @Sendable () -> Void] = [:]
    /// Those who wait for the head of the answer, or the end.
    var headWaiters: [@Sendable () -> Void] = []
  }

  var sessions: [SessionID: SessionEntry] = [:]
  var tasks: [TaskID: TaskEntry] = [:]
  /// The tasks whose decisions wait.
  var decisions: [DecisionID: TaskID] = [:]
  var background = BackgroundSessions()
  var isDraining = false
  /// Those who wait for an end for as long as they like, by their numbers in `waiters`.
  var patientWaiters: [UInt64: @Sendable () -> Void] = [:]
  private var nextWaiter: UInt64 = 0

  /// Makes room for `count` tasks and gives the identifier of the first.
  mutating func reserve(_ count: Int, in id: SessionID, limit: Int) throws(ServiceError) -> Int {
    guard !isDraining else { throw .draining }
    guard let entry = sessions[id] else { throw .sessionNotFound }
    guard entry.session.state == .active else { throw .sessionInvalid }
    guard entry.unfinished + count <= limit else { throw .tooManyTasks(limit: limit) }
    return admit(count, in: id)
  }

  /// As `reserve`, where a task of the session goes on under another name: nothing stands against that.
  mutating func admit(_ count: Int, in id: SessionID) -> Int {
    let last = sessions[id]?.lastIdentifier ?? 0
    sessions[id]?.unfinished += count
    sessions[id]?.lastIdentifier += count
    return last + 1
  }

  /// Tasks ended, or were not created after all.
  mutating func release(_ count: Int, in id: SessionID) { sessions[id]?.unfinished -= count }

  /// Ends a session that waited for its tasks, and gives it back; nil where that is not the case.
  mutating func invalidateIfDone(_ id: SessionID) -> TransferSession? {
    guard let entry = sessions[id], entry.unfinished == 0, entry.session.state == .invalidating else {
      return nil
    }
    sessions[id]?.session.state = .invalid
    sessions[id]?.session.owesFinishedEvents = false
    return sessions[id]?.session
  }

  /// Calls `action` once the task's end is committed; nil where it has ended already.
  mutating func wait(for task: TaskID, _ action: @escaping @Sendable () -> Void) -> UInt64? {
    guard tasks[task] != nil else { return nil }
    nextWaiter += 1
    tasks[task]?.waiters[nextWaiter] = action
    return nextWaiter
  }

  /// Takes those who wait for the head of a task's answer.
  mutating func takeHeadWaiters(_ task: TaskID) -> [@Sendable () -> Void] {
    guard let waiters = tasks[task]?.headWaiters, !waiters.isEmpty else { return [] }
    tasks[task]?.headWaiters = []
    return waiters
  }
}
