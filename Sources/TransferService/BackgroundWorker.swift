package import EventLoop
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
    /// The engine has it.
    var isActive = false
    /// An answer that is shown only where it is the last.
    var heldResponse: WorkerNews?
    /// When the next attempt may begin; not moved by a clock that is set.
    var notBefore: ContinuousClock.Instant?
  }
  struct State {
    var work: [TaskID: Work] = [:]
    var sessions: [SessionID: TransferSession] = [:]
    var suspects = CrashGuard()
    /// Discretionary tasks that are ready but for others.
    var yielding: Set<TaskID> = []
    /// What an earlier process left is known.
    var hasStarted = false
    /// An earlier process died by its own fault: that a task is under way is on the disk before it is, or a death by it would not
    /// be counted.
    var isCareful = false
    var isDraining = false
    var whenIdle: [@Sendable () -> Void] = []

    var isAnyActive: Bool { work.values.contains { $0.isActive } }
    /// Some session's tasks yield to others.
    var hasDiscretion: Bool { sessions.values.contains { $0.configuration.isDiscretionary } }
  }

  let store: any TransferStore
  let engine: TransferEngine
  let bodies: BodyDirectory
  let deadlines: DeadlineQueue
  let discretion: DiscretionaryPolicy
  let logger: Logger
  let now: @Sendable () -> Timestamp
  let loop: EventLoop
  let state = Mutex(State())
  private let bell: DoorbellPull
  private let reader = Mutex<QueueReader<StoredCommand>?>(nil)

  /// - Parameters:
  ///   - relay: what the engine delivers its facts to.
  ///   - bell: the service's; it may not be there.
  ///   - loop: keeps the time of the next attempts.
  package init(
    store: any TransferStore, engine: TransferEngine, relay: FactRelay, bodies: BodyDirectory,
    bell: DoorbellPull,
    loop: EventLoop, discretion: DiscretionaryPolicy, now: @escaping @Sendable () -> Timestamp, logger: Logger
  ) {
    self.store = store
    self.engine = engine
    self.bodies = bodies
    self.bell = bell
    self.loop = loop
    self.discretion = discretion
    self.now = now
    self.logger = logger
    deadlines = DeadlineQueue(now: now)
    relay.connect { [weak self] in self?.absorb($0) }
    engine.cookies.onChange { [weak self] in self?.cookiesChanged($0, $1) }
    deadlines.onFire { [weak self] purpose in
      if case .begin(let task) = purpose { self?.admit(task) }
    }
    let commands = QueueReader { (number: Int64) async throws(StoreError) in
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
      record(change)
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
    if work.session.configuration.isDiscretionary {
      let othersAreActive = state.work.values.contains {
        $0.isActive && !$0.session.configuration.isDiscretionary
      }
      guard discretion.mayRun(at: now(), load: LoadAverage.now(), othersAreActive: othersAreActive) else {
        state.work[id] = work
        state.yielding.insert(id)
        return state.suspects.waits(id)
      }
    }
    state.yielding.remove(id)
    if !work.session.configuration.isDiscretionary { holdDiscretionary(&state, &change) }
    begin(&work, &state, &change)
  }

  /// For its begin date, or for the time of the next attempt.
  private func mustWait(_ work: inout Work, _ change: inout StoreChange) -> Bool {
    if let date = work.task.earliestBeginDate, !work.state.hasBegun {
      guard date <= now() else {
        deadlines.add(.begin(work.task.id), at: date)
        return true
      }
      work.state.hasBegun = true
      change.tell(.beganDelayed(work.task.id, at: now()))
    }
    if let notBefore = work.notBefore, notBefore > .now {
      wake(work.task.id, at: notBefore)
      return true
    }
    return false
  }

  private func begin(_ work: inout Work, _ state: inout State, _ change: inout StoreChange) {
    work.state.startedAt = work.state.startedAt ?? now()
    (work.state.retryAt, work.state.retryDelay) = (nil, nil)
    let isFirst = !work.state.hasAttempted
    work.state.attempts += 1
    (work.state.hasAttempted, work.state.isActive) = (true, true)
    (work.isActive, work.notBefore) = (true, nil)
    change.keep(work)
    state.work[work.task.id] = work
    guard state.isCareful else { return submit(work, isFirst: isFirst) }
    let (id, attempt) = (work.task.id, work.state.attempts)
    record(change) { [weak self] in self?.submitWritten(id, attempt, isFirst: isFirst) }
    change = StoreChange()
  }

  private func submit(_ work: Work, isFirst: Bool) {
    let time = now()
    let left =
      work.session.configuration.timeoutIntervalForResource - time.since(work.state.startedAt ?? time)
    var job = TransferJob(work.task, in: work.session)
    job.configuration.timeoutIntervalForResource = max(0.001, left)
    // URLSession's background sessions always wait.
    job.configuration.waitsForConnectivity = true
    if !isFirst { job.resumePoint = work.state.partial }
    engine.submit([job])
    // One that does not come to begin leaves its turn to the next suspect too.
    if work.state.deaths > 0 { watch(work, for: Self.longestProof) }
  }

  /// What it was told while it was being written down is told to the engine now.
  private func submitWritten(_ id: TaskID, _ attempt: Int, isFirst: Bool) {
    state.withLock { state in
      guard let work = state.work[id], work.isActive, work.state.attempts == attempt else { return }
      submit(work, isFirst: isFirst)
      if let cancellation = work.state.cancellation {
        engine.cancel(id, in: work.session.id, keepsPartial: cancellation == .keepingPartial)
      } else if state.isDraining {
        engine.cancel(id, in: work.session.id, keepsPartial: true)
      } else if work.state.isSuspended || state.yielding.contains(id) {
        engine.suspend(id, in: work.session.id)
      }
    }
  }

  /// What lives for a while is not what the others died of.
  func watch(_ work: Work, for time: Duration = BackgroundWorker.proof) {
    let (id, attempt) = (work.task.id, work.state.attempts)
    loop.perform { [weak self, loop] in
      loop.schedule(at: .now + time) { self?.survived(id, attempt) }
    }
  }

  /// From its begin on, and from its way to the engine on.
  static let proof = Duration.seconds(2)
  private static let longestProof = Duration.seconds(10)

  private func survived(_ id: TaskID, _ attempt: Int) {
    state.withLock { state in
      guard var work = state.work[id], work.isActive, work.state.attempts == attempt else { return }
      work.state.deaths = 0
      state.work[id] = work
      var change = StoreChange()
      change.keep(work)
      state.suspects.progressed(id)
      startSuspects(&state, &change)
      record(change)
    }
  }

  /// Calls `admit` then.
  func wake(_ id: TaskID, at time: ContinuousClock.Instant) {
    loop.perform { [weak self, loop] in
      loop.schedule(at: time) { self?.admit(id) }
    }
  }

  // MARK: Discretionary tasks

  /// Others have come: those that run are held.
  private func holdDiscretionary(_ state: inout State, _ change: inout StoreChange) {
    guard state.hasDiscretion else { return }
    for (id, work) in state.work
    where work.isActive && work.session.configuration.isDiscretionary && !state.yielding.contains(id) {
      state.yielding.insert(id)
      engine.suspend(id, in: work.session.id)
    }
  }

  /// Looks again whether discretionary tasks may run: others have ended, or it is time.
  package func reviewDiscretionary() {
    state.withLock { state in
      var change = StoreChange()
      reviewDiscretionary(&state, &change)
      record(change)
    }
  }

  func reviewDiscretionary(_ state: inout State, _ change: inout StoreChange) {
    guard state.hasDiscretion else { return }
    let discretionary = state.work.filter { $0.value.session.configuration.isDiscretionary }
    let othersAreActive = state.work.values.contains {
      $0.isActive && !$0.session.configuration.isDiscretionary
    }
    guard discretion.mayRun(at: now(), load: LoadAverage.now(), othersAreActive: othersAreActive) else {
      return holdDiscretionary(&state, &change)
    }
    for (id, work) in discretionary where state.yielding.contains(id) {
      state.yielding.remove(id)
      if work.isActive {
        if !work.state.isSuspended { engine.resume(id, in: work.session.id) }
      } else {
        admit(id, &state, &change)
      }
    }
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
