package import BlobStore
package import EngineAPI
internal import EventLoop
package import Ledger
package import Logging
internal import Processes
internal import Synchronization
package import TransferCore
package import TransferModel

/// Runs the tasks of background sessions in a process of its own. It reads commands from the ledger, retries failed attempts, and
/// reports to the service through rows.
///
/// `WorkerMachine` decides. This class gives it inputs under a lock and executes its effects in order, one thread at a time,
/// outside the lock.
package final class BackgroundWorker: Sendable {
  /// Effects to be executed.
  private struct QueuedEffects {
    let effects: WorkerEffects
    let page: Page
    /// Called after the commit of the effects.
    let written: (@Sendable () -> Void)?
  }
  /// Commands that were read together. One commit writes their effects and deletes their rows.
  struct Page {
    var taken: [ClosedRange<Int64>] = []
    /// The number of unreadable documents, or `nil` if the service need not be informed.
    var refused: Int?
    /// Commands about whole sessions, in the order of the effects.
    var asides: [WorkerCommandDispatcher.SessionCommandEntry] = []

    var isEmpty: Bool { taken.isEmpty && refused == nil }
  }
  private struct State {
    var machine: WorkerMachine
    var steps = SerialDrain<QueuedEffects>()
    var random: RandomSource
    /// Whether the work of an earlier worker has been recovered.
    var hasStarted = false
    var whenIdle: [@Sendable () -> Void] = []
  }

  let store: any Ledger
  let engine: any TransferExecuting
  let blobs: any BlobStore
  private let dispatcher: WorkerCommandDispatcher
  let logger: Logger
  let now: @Sendable () -> Timestamp
  /// The documents that this worker cannot read.
  let refused = Mutex(UndecodableDocuments())
  private let state: Mutex<State>
  let deadlines: DeadlineQueue
  private let timers: TimerSource
  private let load = Mutex(LoadAverage.Sample())
  private let waker: any Waker
  private let reader = Mutex<QueueReader<StoredCommand>?>(nil)

  /// - Parameters:
  ///   - relay: delivers the engine's facts.
  ///   - bell: wakes the services, if any run.
  ///   - alarms: the timer of the next attempts.
  ///   - spawn: starts detached tasks.
  ///   - random: spreads the times of the next attempts.
  package init(
    store: any Ledger, engine: any TransferExecuting, relay: FactCallback, blobs: any BlobStore,
    waker: any Waker, timers: TimerSource, discretion: DiscretionaryPolicy,
    now: @escaping @Sendable () -> Timestamp,
    spawn: TaskSpawner = TaskSpawner(), random: RandomSource = RandomSource(seed: .random(in: 0 ... .max)),
    logger: Logger
  ) {
    self.store = store
    self.engine = engine
    self.blobs = blobs
    dispatcher = WorkerCommandDispatcher(engine: engine, blobs: blobs)
    self.waker = waker
    self.timers = timers
    self.now = now
    self.logger = logger
    state = Mutex(State(machine: WorkerMachine(discretion: discretion), random: random))
    deadlines = DeadlineQueue(now: now, timers: timers)
    relay.connect { [weak self] in self?.absorb($0) }
    let storageReader = SessionStorageReader(store: store, now: now, logger: logger)
    engine.storages.connect(
      SessionStorageLoader.Source { session, loaded in
        spawn { loaded(await storageReader.contents(of: session)) }
      } settle: { [weak self] _, settled in
        self?.handle([], written: { settled(true) })
      })
    // Both are called under the lock of the storage, so they may only record.
    engine.cookies.onChange { [weak self] in self?.cookiesChanged($0, $1) }
    engine.credentials.onChange { [weak self] session, changes in
      var change = LedgerChange(changes, of: session)
      // The worker writes for the sessions of all services.
      change.owner = nil
      self?.record(change)
    }
    deadlines.onFire { [weak self] purpose in
      if case .begin(let task) = purpose { self?.handle([.retryDue(task)]) }
    }
    let commands = QueueReader(spawn) { (number: Int64) async throws(LedgerError) in
      try await store.commands(after: number, limit: 500)
    } take: { [weak self] rows async throws(LedgerError) in
      try await self?.handle(rows)
    }
    reader.withLock { $0 = commands }
  }

  /// Reads new commands. Commands that arrive before the earlier worker's tasks are recovered are read at the end of `start`.
  package func pollCommands() {
    guard state.withLock({ $0.hasStarted }) else { return }
    reader.withLock { $0 }?.poll()
  }

  /// Reads the commands that are in the ledger now.
  func readCommands() async throws(LedgerError) {
    state.withLock { $0.hasStarted = true }
    try await reader.withLock { $0 }?.readAll()
  }

  /// The worker's epoch; 0 before `start`.
  var epoch: Epoch { store.epoch ?? 0 }

  /// Checks whether another worker has taken over. The ledger then refuses this worker's writes.
  package func follow() { store.publishRemoteCommits() }

  /// Whether the worker has no tasks, running or waiting.
  package var isIdle: Bool { state.withLock { $0.machine.attempts.isEmpty } }

  /// Whether no attempt is running, and no task yields to others.
  package var isQuiet: Bool { state.withLock { $0.machine.isQuiet } }

  /// Calls `done` from the engine's transfer loops, which shows that they are not stuck.
  package func ping(_ done: @escaping @Sendable () -> Void) { engine.ping(done) }

  /// Wakes the services.
  /// - Returns: whether a service received the wake-up.
  package func canReachService() -> Bool { waker.wake() }

  /// Checks again whether discretionary tasks may run, because other tasks have ended or time has passed.
  package func reviewDiscretionary() { handle([.review]) }

  func session(_ id: SessionID) -> TransferSession? { state.withLock { $0.machine.sessions[id] } }

  /// Whether the task has begun or can begin.
  /// - Parameter row: the task's session from its row, if the session is large and readable.
  func mayBegin(_ task: TransferTask, with row: TransferSession?) -> Bool {
    guard task.state != .completed, row == nil, session(task.sessionID)?.isLarge == true else { return true }
    return state.withLock { $0.machine.attempts[task.id] != nil }
  }

  // MARK: The machine

  private func absorb(_ facts: [TransferFact]) {
    let isProgress = facts.contains { if case .progress = $0 { true } else { false } }
    handle(
      facts.map { .fact($0) }, isServiceThere: isProgress && canReachService(),
      written: LiveBody.storedCallback(for: facts))
  }

  /// Gives inputs to the machine, as one batch of effects.
  /// - Parameter written: called after the commit of the effects.
  func handle(
    _ inputs: [WorkerInput], of page: Page = Page(), isServiceThere: Bool = false,
    written: (@Sendable () -> Void)? = nil
  ) {
    var now = InputContext(wall: now(), uptime: timers.now())
    now.isServiceReachable = isServiceThere
    now.load = load.withLock { $0.value(at: now.uptime) }
    let moment = now
    carryOut { state in
      var effects = WorkerEffects(random: state.random)
      for input in inputs { state.machine.handle(input, at: moment, into: &effects) }
      state.random = effects.random
      return effects.isEmpty && page.isEmpty && written == nil
        ? [] : [QueuedEffects(effects: effects, page: page, written: written)]
    }
  }

  /// Queues effects under the lock. Executes all queued effects unless another thread is doing so.
  private func carryOut(_ decide: (inout State) -> [QueuedEffects]) {
    let mustDrain = state.withLock { state in
      state.steps.elements += decide(&state)
      return state.steps.beginDraining()
    }
    guard mustDrain else { return }
    while true {
      let steps = state.withLock { state in
        let steps = state.steps.dequeueAll()
        if steps.isEmpty, state.machine.isIdle {
          for action in state.whenIdle { action() }
          state.whenIdle = []
        }
        return steps
      }
      if steps.isEmpty { return }
      for step in steps { perform(step) }
    }
  }

  // MARK: Effects

  private func perform(_ step: QueuedEffects) {
    let (effects, page, written) = (step.effects, step.page, step.written)
    logger.noteRetries(effects.facts)
    var change = LedgerChange(effects)
    change.takenCommands = page.taken
    if let count = page.refused { change.report(.refused(count: count)) }
    let begun = effects.written
    if begun.isEmpty, written == nil {
      record(change)
    } else {
      record(change) { [weak self] in
        if !begun.isEmpty { self?.handle(begun.map { .attemptCommitted($0.task, attempt: $0.attempt) }) }
        written?()
      }
    }
    let epoch = epoch
    for order in effects.engineCommands { dispatcher.perform(order, page.asides, as: epoch) }
    for timer in effects.timers { set(timer) }
  }

  /// Records a change, and wakes the services after the commit if the change has reports.
  /// - Parameter written: called after the commit.
  func record(_ change: LedgerChange, written: (@Sendable () -> Void)? = nil) {
    guard !change.isEmpty || written != nil else { return }
    store.record(change) { [waker] in
      if !change.workerReports.isEmpty { waker.wake() }
      written?()
    }
  }

  private func set(_ timer: WorkerEffects.TimerChange) {
    switch timer {
    case .begin(let task, let date): deadlines.add(.begin(task), at: date)
    case .cancelBegin(let task): deadlines.remove(.begin(task))
    case .retry(let task, let time): timers.call(time) { [weak self] in self?.handle([.retryDue(task)]) }
    case .crashWindow(let task, let attempt, let time):
      timers.call(time) { [weak self] in self?.handle([.crashWindowPassed(task, attempt: attempt)]) }
    }
  }

  // MARK: Stopping

  /// Stops all transfers. Their progress and bytes are committed, so that another worker can resume them.
  package func drain() async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.whenIdle.append { continuation.resume() } }
      handle([.drain])
      carryOut { _ in [] }
    }
    await withCheckedContinuation { continuation in
      handle([], written: { continuation.resume() })
    }
  }
}

extension Logger {
  /// Logs a line for each failed attempt that will be retried.
  fileprivate func noteRetries(_ facts: [TransferFact]) {
    for case .willRetry(let task, let count, _, let wait) in facts {
      // The URL is left out, because its query may be secret.
      info(
        "an attempt failed; another one follows",
        metadata: [
          "task": "\(task)", "error": "\(wait.lastError.name)", "reason": "\(wait.lastError.message)",
          "retryCount": "\(count)", "nextAttemptAt": "\(wait.nextAttemptAt)",
        ])
    }
  }
}

extension LedgerChange {
  /// Makes the change that stores the effects.
  fileprivate init(_ effects: WorkerEffects) {
    self.init()
    work = effects.work.map {
      StoredWork(task: $0.task, session: $0.session, document: QueueDocumentCoding.encode($0.state))
    }
    finishedWork = effects.finished
    for fact in effects.facts { report(.fact(fact)) }
  }
}
