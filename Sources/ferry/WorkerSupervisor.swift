import Processes
import FerrySettings
import Logging
import Synchronization

/// Sees to it that there is one living worker while there is a need for one. It may be an earlier service's: whoever holds the lock
/// is it.
actor WorkerSupervisor {
  private static let interval = Duration.milliseconds(500)
  /// A worker that has not said for so long that it lives is stuck.
  private static let patience = Duration.seconds(60)
  /// The same for one that may be what keeps the database from all others.
  private static let patienceOfOthers = Duration.seconds(15)
  private static let longestPause = Duration.seconds(30)
  /// After a crash over its tasks: the next one finds out which of them it was, and others wait for that.
  private static let longestPauseOfCrashes = Duration.seconds(1)
  private static let pauseOfRequests = Duration.seconds(3)

  private let places: WorkerPlaces
  private let executable = DetachedProcess.thisExecutable()
  private let arguments: [String]
  /// What a worker is of: this program, and these options.
  private let generation: String
  private let logger: Logger
  private let news: AsyncStream<Void>
  private let bell: AsyncStream<Void>.Continuation
  /// The one that was started here, and when.
  private var child: (pid: Int32, since: ContinuousClock.Instant)?
  private var pause = Duration.zero
  /// A machine that sleeps makes nobody stuck.
  private var lastBeat: (beat: Int64?, since: SuspendingClock.Instant)?
  private var asked: Int32?
  private var lastRequest: ContinuousClock.Instant?
  /// No other is started.
  private var ending: Task<Void, Never>?

  init(places: WorkerPlaces, arguments: [String], logger: Logger) {
    self.places = places
    self.logger = logger
    self.arguments = arguments
    generation = Generation.of(arguments: arguments)
    (news, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// Somebody rang for a worker, and nobody came.
  nonisolated func look() { bell.yield() }

  /// Until cancelled.
  /// - Parameters:
  ///   - mayReplace: whether this service says of which version and options the worker is.
  ///   - isKeptOut: whether somebody keeps the database from this service.
  func run(
    isNeeded: @escaping @Sendable () -> Bool, mayReplace: @escaping @Sendable () -> Bool,
    isKeptOut: @escaping @Sendable () -> Bool
  ) async {
    let clock = Task { [bell] in
      while !Task.isCancelled {
        bell.yield()
        try? await Task.sleep(for: Self.interval)
      }
      bell.finish()
    }
    await withTaskCancellationHandler {
      for await _ in news {
        reap()
        if isNeeded() {
          ensure(mayReplace: mayReplace(), within: isKeptOut() ? Self.patienceOfOthers : Self.patience)
        }
      }
    } onCancel: {
      clock.cancel()
      bell.finish()
    }
  }

  /// Looks once after a worker that keeps others from their work.
  /// - Returns: false where there is none.
  func watchWorker() -> Bool {
    guard let owner = ProcessLock.owner(path: places.lock) else { return false }
    watch(owner, Self.patienceOfOthers)
    return true
  }

  /// Asks a worker that keeps this version from the database to hand over, now and then: a service of its own version starts it again.
  func endOldWorker() {
    guard lastRequest.map({ .now - $0 > Self.pauseOfRequests }) ?? true else { return }
    lastRequest = .now
    let owner = ProcessLock.owner(path: places.lock)
    logger.warning(
      "waits until services and the worker of an older version have ended: they cannot go on beside this one",
      metadata: ["worker": "\(owner.map { "\($0.pid)" } ?? "none")"])
    _ = owner?.process?.send(.terminate)
  }

  /// Has the worker read its files again. One of another generation is about to hand over, and may not know of this.
  func passReloadOn() {
    guard let owner = ProcessLock.owner(path: places.lock), owner.version == generation,
      let process = owner.process
    else { return }
    _ = process.send(.hangUp)
  }

  /// Asks the worker to write down how far it has come and to end, and starts no other. Returns when it has gone, or after `patience`.
  func endWorker(patience: Duration) async {
    let ending = ending ?? Task { await end(.now + patience) }
    self.ending = ending
    await ending.value
  }

  private func end(_ deadline: ContinuousClock.Instant) async {
    // One that was just started may not have got as far as to the lock.
    let started = child.flatMap { child in child.pid > 0 ? ProcessHandle(pid: child.pid) { true } : nil }
    guard let process = ProcessLock.owner(path: places.lock)?.process ?? started else { return }
    logger.info("asks the worker to end", metadata: ["pid": "\(process.pid)"])
    _ = process.send(.terminate)
    if await process.end(before: deadline) { return reap() }
    logger.warning("the worker has not ended in time", metadata: ["pid": "\(process.pid)"])
  }

  private func ensure(mayReplace: Bool, within patience: Duration) {
    guard ending == nil else { return }
    guard let owner = ProcessLock.owner(path: places.lock) else { return start() }
    if mayReplace, owner.version != generation, asked != owner.pid {
      logger.notice(
        "asks a worker of another version, or with other options, to hand over",
        metadata: ["pid": "\(owner.pid)", "version": "\(owner.version)"])
      _ = owner.process?.send(.terminate)
      asked = owner.pid
    }
    watch(owner, patience)
  }

  /// One that is alive and does nothing any more is ended: its tasks go on with another.
  private func watch(_ owner: ProcessLock.Owner, _ patience: Duration) {
    let beat = ProcessLock.lastBeat(path: places.lock)
    guard let last = lastBeat, last.beat == beat else {
      lastBeat = (beat, .now)
      return
    }
    guard .now - last.since > patience else { return }
    logger.error("the worker is stuck, and is ended", metadata: ["pid": "\(owner.pid)"])
    // It may be one of its tasks that it is stuck over.
    places.markCrash()
    _ = owner.process?.send(.kill)
    lastBeat = nil
  }

  private func start() {
    // It may not have got as far as to the lock.
    if let child, .now - child.since < .seconds(10) + pause { return }
    do {
      let pid = try DetachedProcess.start(
        executable, ["ferry", "worker", "--generation", generation] + arguments,
        environment: Settings.workerEnvironment(), log: places.log)
      child = (pid, .now)
      logger.info("started a worker", metadata: ["pid": "\(pid)"])
    } catch {
      logger.error("cannot start a worker", metadata: ["error": "\(error)"])
      child = (0, .now)
    }
  }

  /// Forgets children that have ended. One that ends at once again and again is started less and less often. The first process of a
  /// container has children that it did not start, too.
  private func reap() {
    for (pid, status) in DetachedProcess.reapAll() where pid == child?.pid { ended(pid, status) }
  }

  private func ended(_ pid: Int32, _ status: Int32) {
    guard let since = child?.since else { return }
    logger.warning("a worker has ended", metadata: ["pid": "\(pid)", "status": "\(status)"])
    // It could not say so itself: its stack was at its end.
    if DetachedProcess.isFault(status) { places.markCrash() }
    let wasShort = .now - since < .seconds(2)
    let longest = places.isMarkedByCrash ? Self.longestPauseOfCrashes : Self.longestPause
    pause = wasShort ? min(longest, max(.milliseconds(250), pause * 2)) : .zero
    child = pause == .zero ? nil : (0, .now - .seconds(10))
  }
}
