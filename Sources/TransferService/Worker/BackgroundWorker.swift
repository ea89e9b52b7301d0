package import BlobStore
package import EngineAPI
internal import EventLoop
package import Ledger
package import Logging
internal import Processes
internal import Synchronization
package import TransferCore
package import TransferModel

/// Carries the tasks of background sessions out, in a process of its own: takes commands from the store, tries again what failed, and
/// tells what happened by rows that the service takes whenever it is there.
///
/// What it decides, `WorkerMachine` decides. This gives it inputs under a lock, and carries its turns out in their order: one thread at
/// a time, outside of that lock.
package final class BackgroundWorker: Sendable {
  /// A turn that is to be carried out.
  private struct Step {
    let turn: WorkerTurn
    let page: Page
    /// Called once the turn is on the disk.
    let written: (@Sendable () -> Void)?
  }
  /// Commands that were read together: what they cause is one commit, and their rows go with it.
  struct Page {
    var taken: [ClosedRange<Int64>] = []
    /// How many documents cannot be read, where that is to be told.
    var refused: Int?
    /// Commands that concern no task, in the order of the turn's asides.
    var asides: [WorkerDesk.Aside] = []

    var isEmpty: Bool { taken.isEmpty && refused == nil }
  }
  private struct State {
    var machine: WorkerMachine
    var steps = SerialDrain<Step>()
    var random: RandomSource
    /// What an earlier process left is known.
    var hasStarted = false
    var whenIdle: [@Sendable () -> Void] = []
  }

  let store: any Ledger
  let engine: any LocalCarrier
  let blobs: any BlobStore
  private let desk: WorkerDesk
  let logger: Logger
  let now: @Sendable () -> Timestamp
  /// What it cannot read of what it finds.
  let refused = Mutex(RefusedDocuments())
  private let state: Mutex<State>
  let deadlines: DeadlineQueue
  private let alarms: Alarms
  private let load = Mutex(LoadAverage.Sample())
  private let bell: any Bell
  private let reader = Mutex<QueueReader<StoredCommand>?>(nil)

  /// - Parameters:
  ///   - relay: what the engine delivers its facts to.
  ///   - bell: the service's; it may not be there.
  ///   - alarms: keep the time of the next attempts.
  ///   - spawn: how it does something beside everything else.
  ///   - random: spreads the times of the next attempts.
  package init(
    store: any Ledger, engine: any LocalCarrier, relay: FactRelay, blobs: any BlobStore,
    bell: any Bell, alarms: Alarms, discretion: DiscretionaryPolicy, now: @escaping @Sendable () -> Timestamp,
    spawn: Spawn = Spawn(), random: RandomSource = RandomSource(seed: .random(in: 0 ... .max)), logger: Logger
  ) {
    self.store = store
    self.engine = engine
    self.blobs = blobs
    desk = WorkerDesk(engine: engine, blobs: blobs)
    self.bell = bell
    self.alarms = alarms
    self.now = now
    self.logger = logger
    state = Mutex(State(machine: WorkerMachine(discretion: discretion), random: random))
    deadlines = DeadlineQueue(now: now, alarms: alarms)
    relay.connect { [weak self] in self?.absorb($0) }
    let storageReader = StorageReader(store: store, now: now, logger: logger)
    engine.storages.connect(
      SessionStorages.Source { session, loaded in
        spawn { loaded(await storageReader.contents(of: session)) }
      } settle: { [weak self] _, settled in
        self?.give([], written: { settled(true) })
      })
    // Both are called under the lock of the storage: they record, and carry out nothing else.
    engine.cookies.onChange { [weak self] in self?.cookiesChanged($0, $1) }
    engine.credentials.onChange { [weak self] session, changes in
      var change = StoreChange(changes, of: session)
      // The worker writes for sessions of all services.
      change.owner = nil
      self?.record(change)
    }
    deadlines.onFire { [weak self] purpose in
      if case .begin(let task) = purpose { self?.give([.due(task)]) }
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
  func readCommands() async throws(StoreError) {
    state.withLock { $0.hasStarted = true }
    try await reader.withLock { $0 }?.readAll()
  }

  /// Under which it carries tasks out; 0 before it has begun.
  var epoch: Epoch { store.epoch ?? 0 }

  /// Looks whether another has taken its place: what it writes is written no more then.
  package func follow() { store.follow() }

  /// True where there is nothing to be done, now or later.
  package var isIdle: Bool { state.withLock { $0.machine.attempts.isEmpty } }

  /// True where nothing is under way, and nothing yields to others.
  package var isQuiet: Bool { state.withLock { $0.machine.isQuiet } }

  /// Calls `done` once what carries the transfers out has come round: it is not stuck.
  package func ping(_ done: @escaping @Sendable () -> Void) { engine.ping(done) }

  /// True where the service hears the bell.
  package func isHeard() -> Bool { bell.ring() }

  /// Looks again whether discretionary tasks may run: others have ended, or it is time.
  package func reviewDiscretionary() { give([.review]) }

  func session(_ id: SessionID) -> TransferSession? { state.withLock { $0.machine.sessions[id] } }

  /// Whether the task has begun or can begin.
  /// - Parameter row: the task's session as read from its row, if it is large and can be read.
  func mayBegin(_ task: TransferTask, with row: TransferSession?) -> Bool {
    guard task.state != .completed, row == nil, session(task.sessionID)?.isLarge == true else { return true }
    return state.withLock { $0.machine.attempts[task.id] != nil }
  }

  // MARK: The machine

  private func absorb(_ facts: [TransferFact]) {
    let isProgress = facts.contains { if case .progress = $0 { true } else { false } }
    give(
      facts.map { .fact($0) }, isServiceThere: isProgress && isHeard(),
      written: LiveBody.storedCallback(for: facts))
  }

  /// Gives the machine what has happened, as one turn.
  /// - Parameter written: called once that turn is on the disk.
  func give(
    _ inputs: [WorkerInput], of page: Page = Page(), isServiceThere: Bool = false,
    written: (@Sendable () -> Void)? = nil
  ) {
    var now = Now(wall: now(), uptime: alarms.now())
    now.isServiceThere = isServiceThere
    now.load = load.withLock { $0.value(at: now.uptime) }
    let moment = now
    carryOut { state in
      var turn = WorkerTurn(random: state.random)
      for input in inputs { state.machine.handle(input, at: moment, into: &turn) }
      state.random = turn.random
      return turn.isEmpty && page.isEmpty && written == nil
        ? [] : [Step(turn: turn, page: page, written: written)]
    }
  }

  /// Adds steps under the lock, and carries out what there is unless somebody does.
  private func carryOut(_ decide: (inout State) -> [Step]) {
    let mustDrain = state.withLock { state in
      state.steps.elements += decide(&state)
      return state.steps.claim()
    }
    guard mustDrain else { return }
    while true {
      let steps = state.withLock { state in
        let steps = state.steps.take()
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

  // MARK: Turns

  private func perform(_ step: Step) {
    let (turn, page, written) = (step.turn, step.page, step.written)
    logger.noteRetries(turn.facts)
    var change = StoreChange(turn)
    change.takenCommands = page.taken
    if let count = page.refused { change.tell(.refused(count: count)) }
    let begun = turn.written
    if begun.isEmpty, written == nil {
      record(change)
    } else {
      record(change) { [weak self] in
        if !begun.isEmpty { self?.give(begun.map { .written($0.task, attempt: $0.attempt) }) }
        written?()
      }
    }
    let epoch = epoch
    for order in turn.orders { desk.perform(order, page.asides, as: epoch) }
    for alarm in turn.alarms { set(alarm) }
  }

  /// Writes what has happened, and rings once it is on the disk.
  /// - Parameter written: called once it is there.
  func record(_ change: StoreChange, written: (@Sendable () -> Void)? = nil) {
    guard !change.isEmpty || written != nil else { return }
    store.record(change) { [bell] in
      if !change.news.isEmpty { bell.ring() }
      written?()
    }
  }

  private func set(_ alarm: WorkerTurn.Alarm) {
    switch alarm {
    case .begin(let task, let date): deadlines.add(.begin(task), at: date)
    case .cancelBegin(let task): deadlines.remove(.begin(task))
    case .retry(let task, let time): alarms.call(time) { [weak self] in self?.give([.due(task)]) }
    case .proof(let task, let attempt, let time):
      alarms.call(time) { [weak self] in self?.give([.survived(task, attempt: attempt)]) }
    }
  }

  // MARK: Its end

  /// Stops every transfer, each with what it has got on the disk and in its row, so that another process goes on from there.
  package func drain() async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.whenIdle.append { continuation.resume() } }
      give([.drain])
      carryOut { _ in [] }
    }
    await withCheckedContinuation { continuation in
      give([], written: { continuation.resume() })
    }
  }
}

extension Logger {
  /// One line for each failed attempt that another follows.
  fileprivate func noteRetries(_ facts: [TransferFact]) {
    for case .retries(let task, let count, _, let wait) in facts {
      // Without the URL: its query may be secret.
      info(
        "an attempt failed, and another will follow",
        metadata: [
          "task": "\(task)", "error": "\(wait.lastError.name)", "reason": "\(wait.lastError.message)",
          "retryCount": "\(count)", "nextAttemptAt": "\(wait.nextAttemptAt)",
        ])
    }
  }
}

extension StoreChange {
  /// What a turn writes.
  fileprivate init(_ turn: WorkerTurn) {
    self.init()
    work = turn.work.map {
      StoredWork(task: $0.task, session: $0.session, document: WorkerDocument.encode($0.state))
    }
    finishedWork = turn.finished
    for fact in turn.facts { tell(.fact(fact)) }
  }
}
