import Processes
import FerrySettings
import Logging
import Synchronization

/// Keeps one live worker running while one is needed. The owner of the lock is the worker, even if an earlier service started
/// it.
actor WorkerSupervisor {
  private static let interval = Duration.milliseconds(500)
  /// The time without a heartbeat after which a worker counts as stuck.
  private static let patience = Duration.seconds(60)
  /// The shorter time for a worker that may lock the database against all other processes.
  private static let patienceOfOthers = Duration.seconds(15)
  private static let longestPause = Duration.seconds(30)
  /// The longest pause after a crash. The next worker finds out which task caused the crash, and other tasks wait for that.
  private static let longestPauseOfCrashes = Duration.seconds(1)
  private static let pauseOfRequests = Duration.seconds(3)

  private let places: WorkerFiles
  private let executable = DetachedProcess.thisExecutable()
  private let arguments: [String]
  /// The identity of this program and these options.
  private let generation: String
  private let logger: Logger
  private let wakeups: AsyncStream<Void>
  private let wakeup: AsyncStream<Void>.Continuation
  /// The worker that this service started, with its start time.
  private var child: (pid: Int32, since: ContinuousClock.Instant)?
  private var pause = Duration.zero
  /// The last heartbeat and when it was seen. The clock stops during sleep, so that sleep makes no worker count as stuck.
  private var lastBeat: (beat: Int64?, since: SuspendingClock.Instant)?
  private var asked: Int32?
  private var lastRequest: ContinuousClock.Instant?
  /// The task that ends the worker. While it is set, no worker starts.
  private var ending: Task<Void, Never>?

  init(places: WorkerFiles, arguments: [String], logger: Logger) {
    self.places = places
    self.logger = logger
    self.arguments = arguments
    generation = WorkerGeneration.of(arguments: arguments)
    (wakeups, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// Requests a check for a worker, because a wake-up reached none.
  nonisolated func workerNeeded() { wakeup.yield() }

  /// Supervises the worker until the current task is cancelled.
  /// - Parameters:
  ///   - mayReplace: whether this service decides the worker's version and options.
  ///   - isKeptOut: whether another process locks the database.
  func run(
    isNeeded: @escaping @Sendable () -> Bool, mayReplace: @escaping @Sendable () -> Bool,
    isKeptOut: @escaping @Sendable () -> Bool
  ) async {
    let clock = Task { [wakeup] in
      while !Task.isCancelled {
        wakeup.yield()
        try? await Task.sleep(for: Self.interval)
      }
      wakeup.finish()
    }
    await withTaskCancellationHandler {
      for await _ in wakeups {
        reap()
        if isNeeded() {
          ensure(mayReplace: mayReplace(), within: isKeptOut() ? Self.patienceOfOthers : Self.patience)
        }
      }
    } onCancel: {
      clock.cancel()
      wakeup.finish()
    }
  }

  /// Checks the worker once, and kills it if it is stuck: a stuck worker may lock the database.
  /// - Returns: `false` if there is no worker.
  func watchWorker() -> Bool {
    guard let owner = ProcessLock.owner(path: places.lock) else { return false }
    watch(owner, Self.patienceOfOthers)
    return true
  }

  /// Asks a worker of an older version to hand over. An older service would start it again, so this repeats at an interval.
  func endOldWorker() {
    guard lastRequest.map({ .now - $0 > Self.pauseOfRequests }) ?? true else { return }
    lastRequest = .now
    let owner = ProcessLock.owner(path: places.lock)
    logger.warning(
      "waiting until the services and the worker of an older version have ended; they cannot share the database with this version",
      metadata: ["worker": "\(owner.map { "\($0.pid)" } ?? "none")"])
    _ = owner?.process?.send(.terminate)
  }

  /// Makes the worker reload its files. A worker of another generation hands over soon, and may not handle the signal.
  func reloadWorker() {
    guard let owner = ProcessLock.owner(path: places.lock), owner.version == generation,
      let process = owner.process
    else { return }
    _ = process.send(.hangUp)
  }

  /// Asks the worker to save its state and end, and starts no other. Returns after its end, or after `patience`.
  func endWorker(patience: Duration) async {
    let ending = ending ?? Task { await end(.now + patience) }
    self.ending = ending
    await ending.value
  }

  private func end(_ deadline: ContinuousClock.Instant) async {
    // A worker that has just started may not hold the lock yet.
    let started = child.flatMap { child in child.pid > 0 ? ProcessHandle(pid: child.pid) { true } : nil }
    guard let process = ProcessLock.owner(path: places.lock)?.process ?? started else { return }
    logger.info("asked the worker to end", metadata: ["pid": "\(process.pid)"])
    _ = process.send(.terminate)
    if await process.end(before: deadline) { return reap() }
    logger.warning("the worker has not ended in time; it keeps running", metadata: ["pid": "\(process.pid)"])
  }

  private func ensure(mayReplace: Bool, within patience: Duration) {
    guard ending == nil else { return }
    guard let owner = ProcessLock.owner(path: places.lock) else { return start() }
    if mayReplace, owner.version != generation, asked != owner.pid {
      logger.notice(
        "asked a worker with another version or other options to hand over",
        metadata: ["pid": "\(owner.pid)", "version": "\(owner.version)"])
      _ = owner.process?.send(.terminate)
      asked = owner.pid
    }
    watch(owner, patience)
  }

  /// Kills a worker that is alive but stuck. The next worker continues its tasks.
  private func watch(_ owner: ProcessLock.Owner, _ patience: Duration) {
    let beat = ProcessLock.lastHeartbeat(path: places.lock)
    guard let last = lastBeat, last.beat == beat else {
      lastBeat = (beat, .now)
      return
    }
    guard .now - last.since > patience else { return }
    logger.error(
      "the worker is unresponsive; killing it, so that another one takes over",
      metadata: ["pid": "\(owner.pid)"])
    // One of its tasks may be the cause.
    places.markCrash()
    _ = owner.process?.send(.kill)
    lastBeat = nil
  }

  private func start() {
    // The worker may not hold the lock yet.
    if let child, .now - child.since < .seconds(10) + pause { return }
    do {
      let pid = try DetachedProcess.start(
        executable, ["ferry", "worker", "--generation", generation] + arguments,
        environment: Settings.workerEnvironment(), log: places.log)
      child = (pid, .now)
      logger.info("started a worker", metadata: ["pid": "\(pid)"])
    } catch {
      logger.error("cannot start a worker; trying again", metadata: ["error": "\(error)"])
      child = (0, .now)
    }
  }

  /// Collects ended children. A worker that repeatedly ends at once is restarted after growing pauses. The first process of a container
  /// also inherits children that it did not start.
  private func reap() {
    for (pid, status) in DetachedProcess.reapAll() where pid == child?.pid { ended(pid, status) }
  }

  private func ended(_ pid: Int32, _ status: Int32) {
    guard let since = child?.since else { return }
    logger.warning("a worker has ended", metadata: ["pid": "\(pid)", "status": "\(status)"])
    // The worker could not leave the mark itself, because its stack was exhausted.
    if DetachedProcess.isFault(status) { places.markCrash() }
    let wasShort = .now - since < .seconds(2)
    let longest = places.hasCrashMarker ? Self.longestPauseOfCrashes : Self.longestPause
    pause = wasShort ? min(longest, max(.milliseconds(250), pause * 2)) : .zero
    child = pause == .zero ? nil : (0, .now - .seconds(10))
  }
}
