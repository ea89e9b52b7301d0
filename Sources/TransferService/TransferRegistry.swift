internal import TransferEngine
internal import TransferModel

/// The sessions and the unfinished tasks, as they are now. A plain value; `TransferService` locks it.
struct TransferRegistry {
  struct SessionEntry {
    var session: TransferSession
    var lastIdentifier: Int
    /// Tasks that have not ended, those being created included.
    var unfinished = 0
    /// invalidateAndCancel() was called: what is still being created is cancelled, too.
    var cancelsTasks = false
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
  /// What somebody wants of a task. Called within the registry's lock.
  typealias Verb = @Sendable (inout TransferRegistry) -> Void
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
    /// Its row is being written: verbs that come meanwhile, in order, to be done before it begins. nil: it is written.
    var creation: [Verb]?
    /// The engine knows it.
    var isSubmitted = false
    /// An earlier process created it, and may have handed it over to the one that carries background tasks out.
    var isUncertain = false
    /// Its begin date has come and was told.
    var hasBegun = false
    /// An attempt has failed, and the next has not begun.
    var waitsToRetry = false
    /// It has ended; the commit that says so is under way.
    var isEnding = false
    @IndirectIfAny var question: Question?
    var upload = Upload.none
    var waiters: [UInt64: @Sendable () -> Void] = [:]
    /// Those who wait for the head of the answer, or the end.
    var headWaiters: [@Sendable () -> Void] = []
  }

  var sessions: [SessionID: SessionEntry] = [:]
  var tasks = TaskTable()
  /// Those of each session.
  private var tasksOfSession: [SessionID: Set<TaskID>] = [:]
  /// The tasks whose decisions wait.
  var decisions: [DecisionID: TaskID] = [:]
  /// The downloads that data tasks became, as long as they are unfinished.
  private(set) var downloads: [TaskID: TaskID] = [:]
  private var dataTasks: [TaskID: TaskID] = [:]
  var background = BackgroundSessions()
  var isDraining = false
  /// Those who wait for an end, by their numbers in `waiters`. The patient wait for as long as they like.
  var endWaiters: [UInt64: (waiter: Waiter, isPatient: Bool)] = [:]
  private var nextWaiter: UInt64 = 0

  mutating func insert(_ entry: TaskEntry) {
    tasks[entry.task.id] = entry
    tasksOfSession[entry.task.sessionID, default: []].insert(entry.task.id)
  }

  /// A data task goes on as a download, which is inserted.
  mutating func insert(_ download: TaskEntry, goingOnFor dataTask: TaskID) {
    insert(download)
    downloads[dataTask] = download.task.id
    dataTasks[download.task.id] = dataTask
  }

  /// Forgets a task that has ended; nil where it is not known.
  mutating func removeTask(_ id: TaskID) -> TaskEntry? {
    guard let entry = tasks.removeValue(forKey: id) else { return nil }
    if let dataTask = dataTasks.removeValue(forKey: id) { downloads[dataTask] = nil }
    let session = entry.task.sessionID
    tasksOfSession[session]?.remove(id)
    if tasksOfSession[session]?.isEmpty == true { tasksOfSession[session] = nil }
    return entry
  }

  /// Whose a session is; nil where there is none.
  func tenant(of session: SessionID) -> Tenant? { sessions[session]?.session.tenant }

  /// The unfinished tasks of a session: those that have not begun first, the newest of them before the others. So none
  /// begins because another was cancelled.
  func tasksToCancel(in session: SessionID) -> [TaskID] {
    let found = (tasksOfSession[session] ?? []).compactMap { id in
      tasks[id].map { (id: id, hasBegun: $0.task.startedAt != nil, number: $0.task.taskIdentifier) }
    }
    return found.sorted { left, right in
      left.hasBegun == right.hasBegun ? left.number > right.number : right.hasBegun
    }.map(\.id)
  }

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

  /// Does something with a task: at once, or as soon as its row is written.
  mutating func whenCreated(_ task: TaskID, _ verb: @escaping Verb) {
    if tasks[task]?.creation != nil { tasks[task]?.creation?.append(verb) } else { verb(&self) }
  }

  /// Ends the creation of tasks and does what is waited for.
  /// - Parameter isWritten: they have rows; else there are no such tasks.
  mutating func endCreation(of ids: some Sequence<TaskID>, isWritten: Bool) {
    for id in ids {
      let verbs = tasks[id]?.creation ?? []
      if isWritten { tasks[id]?.creation = nil } else { _ = removeTask(id) }
      for verb in verbs { verb(&self) }
    }
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
