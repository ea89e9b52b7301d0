package import Logging
internal import Synchronization
package import TransferEngine
package import TransferModel
package import TransferStore

/// Carries the tasks of background sessions out, in a process of its own: takes commands from the store, tries again what failed, and
/// tells what happened by rows that the service takes whenever it is there.
///
/// All it knows is behind one lock, held for microseconds; whatever changes is queued for the store inside it, so that the rows are in
/// the order in which things happened.
package final class BackgroundWorker: Sendable {
  struct Work {
    /// As it was when it was handed over, but for what commands have changed.
    var task: TransferTask
    let session: TransferSession
    var state = WorkState()
    /// An answer that is shown only where it is the last.
    var heldResponse: WorkerNews?
    /// What this attempt was told again of what an earlier one had asked.
    var repeated: [AskedChallenge] = []
    /// When the next attempt may begin; not moved by a clock that is set.
    var notBefore: ContinuousClock.Instant?

    /// How the last attempt ended, where there is no time for another and some is left.
    var lastOutcome: TransferOutcome?

    var isDiscretionary: Bool { session.configuration.isDiscretionary || task.isDiscretionary }
    /// The engine has it.
    var isActive: Bool { state.isActive }
    /// Who comes after a death must know that an attempt has begun, where a request must not be sent twice unseen (RFC 9110
    /// §9.2.2), and where the attempt takes the bytes of another download, which are to be given back.
    var mustBeWrittenFirst: Bool {
      !task.currentRequest.isIdempotent || state.partial?.download.map { $0.source != task.id } == true
    }
  }
  struct State {
    var work: [TaskID: Work] = [:]
    var sessions: [SessionID: TransferSession] = [:]
    var suspects = CrashGuard()
    /// Those that the engine has.
    var active: Set<TaskID> = []
    /// Those of them that others yield to: they are not discretionary, and not suspended.
    var busy: Set<TaskID> = []
    /// Discretionary ones that the engine has and that are not held.
    var discretionary: Set<TaskID> = []
    /// Discretionary tasks that are ready but for others.
    var yielding: Set<TaskID> = []
    var load = LoadAverage.Sample()
    /// What an earlier process left is known.
    var hasStarted = false
    /// An earlier process died by its own fault: that a task is under way is on the disk before it is, or a death by it would not
    /// be counted.
    var isCareful = false
    var isDraining = false
    /// Attempts that go to the engine once what says so is on the disk.
    var beginning: [(task: TaskID, attempt: Int)] = []
    var whenIdle: [@Sendable () -> Void] = []

    mutating func begin(_ work: Work) {
      active.insert(work.task.id)
      if work.isDiscretionary {
        discretionary.insert(work.task.id)
      } else {
        busy.insert(work.task.id)
      }
    }

    mutating func end(_ id: TaskID) {
      active.remove(id)
      busy.remove(id)
      discretionary.remove(id)
      yielding.remove(id)
    }
  }

  let store: any TransferStore
  let engine: any LocalCarrier
  let bodies: BodyDirectory
  let deadlines: DeadlineQueue
  let discretion: DiscretionaryPolicy
  let logger: Logger
  let now: @Sendable () -> Timestamp
  /// Calls when the time of a next attempt has come.
  let alarms: Alarms
  let state = Mutex(State())
  /// What it cannot read of what it finds. Locked inside of the lock around `state`, never around it.
  let refused = Mutex(RefusedDocuments())
  private let bell: any Bell
  private let reader = Mutex<QueueReader<StoredCommand>?>(nil)

  /// - Parameters:
  ///   - relay: what the engine delivers its facts to.
  ///   - bell: the service's; it may not be there.
  ///   - alarms: keep the time of the next attempts.
  ///   - spawn: how it does something beside everything else.
  package init(
    store: any TransferStore, engine: any LocalCarrier, relay: FactRelay, bodies: BodyDirectory,
    bell: any Bell, alarms: Alarms, discretion: DiscretionaryPolicy, now: @escaping @Sendable () -> Timestamp,
    spawn: Spawn = Spawn(), logger: Logger
  ) {
    self.store = store
    self.engine = engine
    self.bodies = bodies
    self.bell = bell
    self.alarms = alarms
    self.discretion = discretion
    self.now = now
    self.logger = logger
    deadlines = DeadlineQueue(now: now, uptime: alarms.now)
    relay.connect { [weak self] in self?.absorb($0) }
    engine.cookies.onChange { [weak self] in self?.cookiesChanged($0, $1) }
    deadlines.onFire { [weak self] purpose in
      if case .begin(let task) = purpose { self?.admit(task) }
    }
    let commands = QueueReader(spawn) { (number: Int64) async throws(StoreError) in
      try await store.commands(after: number, limit: 500)
    } take: { [weak self] rows async throws(StoreError) in
      try await self?.take(rows)
    }
    reader.withLock { $0 = commands }
  }

  /// There may be commands. Those that come before it has taken up what it is to do them to are read at the end of its start.
  package func lookForCommands() {
    guard state.withLock({ $0.hasStarted }) else { return }
    reader.withLock { $0 }?.look()
  }

  /// Reads the commands that are there now.
  func readCommands() async throws(StoreError) { try await reader.withLock { $0 }?.readAll() }

  /// True where there is nothing to be done, now or later.
  package var isIdle: Bool { state.withLock { $0.work.isEmpty } }

  /// Calls `done` once what carries the transfers out has come round: it is not stuck.
  package func ping(_ done: @escaping @Sendable () -> Void) { engine.ping(done) }

  /// True where the service hears the bell.
  package func isHeard() -> Bool { bell.ring() }

  /// Writes what has happened in one go, since the lock was taken: whoever reads it after a death finds all of it or nothing, the
  /// attempts that begin with it and the commands that caused them. Within the lock.
  func record(_ change: StoreChange, _ state: inout State) {
    let beginning = state.beginning
    guard !beginning.isEmpty else { return record(change) }
    state.beginning = []
    record(change) { [weak self] in self?.submitWritten(beginning) }
  }

  /// Writes what has happened, and rings once it is on the disk. Within the lock.
  /// - Parameter written: called once it is there.
  func record(_ change: StoreChange, written: (@Sendable () -> Void)? = nil) {
    guard !change.isEmpty else { return }
    store.record(change) { [bell] in
      if !change.news.isEmpty { _ = bell.ring() }
      written?()
    }
  }

  // MARK: Beginning

  /// Begins an attempt of a task that is ready for one.
  func admit(_ id: TaskID) {
    state.withLock { state in
      var change = StoreChange()
      admit(id, &state, &change)
      record(change, &state)
    }
  }

  /// - Parameter isTried: it may have been what others died of, and its turn has come.
  func admit(_ id: TaskID, isTried: Bool = false, _ state: inout State, _ change: inout StoreChange) {
    guard !state.isDraining, var work = state.work[id], !work.isActive else { return }
    guard !work.state.isSuspended else { return state.suspects.waits(id) }
    guard isTried || !state.suspects.isSuspect(id) else {
      state.suspects.isDue(id)
      return startSuspects(&state, &change)
    }
    guard !mustWait(&work, &change) else {
      state.work[id] = work
      return state.suspects.waits(id)
    }
    guard !endsInTime(work, &state, &change) else { return }
    if work.isDiscretionary {
      guard mayRunDiscretionary(&state) else {
        state.work[id] = work
        state.yielding.insert(id)
        return state.suspects.waits(id)
      }
    }
    state.yielding.remove(id)
    if !work.isDiscretionary { holdDiscretionary(&state) }
    begin(&work, &state, &change)
  }

  /// For its begin date, or for the time of the next attempt.
  private func mustWait(_ work: inout Work, _ change: inout StoreChange) -> Bool {
    // Where a delegate is asked, the service has waited for the date, and for the answer.
    let asks = work.session.delegate?.asksForDelayedRequests == true
    if !asks, let date = work.task.earliestBeginDate, !work.state.hasBegun, work.state.startedAt == nil {
      guard date <= now() else {
        deadlines.add(.begin(work.task.id), at: date)
        return true
      }
      work.state.hasBegun = true
      change.keep(work)
      change.tell(.beganDelayed(work.task.id, at: now()))
    }
    if let notBefore = work.notBefore, notBefore > alarms.now() {
      wake(work.task.id, at: notBefore)
      return true
    }
    return false
  }

  private func begin(_ work: inout Work, _ state: inout State, _ change: inout StoreChange) {
    (work.state.retryAt, work.state.retryDelay) = (nil, nil)
    work.state.attempts += 1
    work.state.isActive = true
    (work.notBefore, work.repeated) = (nil, [])
    work.state.question = nil
    change.keep(work)
    state.work[work.task.id] = work
    state.begin(work)
    guard state.isCareful || work.mustBeWrittenFirst else { return submit(work) }
    state.beginning.append((work.task.id, work.state.attempts))
  }

  private func submit(_ work: Work) {
    let time = now()
    let whole = work.session.configuration.timeoutIntervalForResource
    // A clock that was set back gives nobody more time than the whole.
    let left = min(whole, whole - time.since(work.state.startedAt ?? time))
    var job = TransferJob(work.task, in: work.session)
    job.configuration.timeoutIntervalForResource = max(0.001, left)
    // URLSession's background sessions always wait.
    job.configuration.waitsForConnectivity = true
    job.resumePoint = work.state.partial
    job.questions = work.state.questions
    engine.submit([job])
    // One that does not come to begin leaves its turn to the next suspect too.
    if work.state.mustProveItself { watch(work, for: Self.longestProof) }
  }

  /// What it was told while it was being written down is told to the engine now.
  private func submitWritten(_ attempts: [(task: TaskID, attempt: Int)]) {
    state.withLock { state in
      for (id, attempt) in attempts {
        guard let work = state.work[id], work.isActive, work.state.attempts == attempt else { continue }
        submit(work)
        if let cancellation = work.state.cancellation {
          engine.cancel(id, in: work.session.id, keepsPartial: cancellation == .keepingPartial)
        } else if state.isDraining {
          engine.cancel(id, in: work.session.id, keepsPartial: true)
        } else if work.state.isSuspended || state.yielding.contains(id) {
          engine.suspend(id, in: work.session.id)
        }
      }
    }
  }

  /// What lives for a while is not what the others died of.
  func watch(_ work: Work, for shortest: Duration = BackgroundWorker.proof) {
    let time = work.state.crashesOften ? Self.longestProof : shortest
    let (id, attempt) = (work.task.id, work.state.attempts)
    alarms.call(alarms.now() + time) { [weak self] in self?.survived(id, attempt) }
  }

  /// From its begin on, and from its way to the engine on.
  static let proof = Duration.seconds(2)
  private static let longestProof = Duration.seconds(10)

  private func survived(_ id: TaskID, _ attempt: Int) {
    state.withLock { state in
      guard var work = state.work[id], work.isActive, work.state.attempts == attempt else { return }
      work.state.deaths = 0
      if work.state.crashesOften { work.state.crashes = 0 }
      state.work[id] = work
      var change = StoreChange()
      change.keep(work)
      state.suspects.progressed(id)
      startSuspects(&state, &change)
      record(change, &state)
    }
  }

  /// Calls `admit` then.
  func wake(_ id: TaskID, at time: ContinuousClock.Instant) {
    alarms.call(time) { [weak self] in self?.admit(id) }
  }
}

extension StoreChange {
  mutating func tell(_ news: WorkerNews) { self.news.append(WorkerDocument.encode(news)) }

  mutating func keep(_ work: BackgroundWorker.Work) {
    self.work.append(
      StoredWork(
        task: work.task.id, session: work.session.id, document: WorkerDocument.encode(work.state)))
  }
}
