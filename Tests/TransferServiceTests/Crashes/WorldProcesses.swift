import Crypto
import EventLoop
import Logging
import MemoryStore
import Synchronization
import TransferEngine
import TransferModel
import TransferStore

@testable import TransferService

/// The clocks of a world, and what is to happen at a time of theirs.
final class WorldClock: Sendable {
  private struct State {
    var now = World.start
    var uptime = ContinuousClock.Instant.now
    var alarms: [(time: ContinuousClock.Instant, action: Alarms.Action)] = []
  }
  private let state = Mutex(State())

  var now: Timestamp { state.withLock { $0.now } }
  var hasAlarms: Bool { state.withLock { !$0.alarms.isEmpty } }
  var alarms: Alarms {
    Alarms(now: { self.state.withLock { $0.uptime } }) { time, action in
      self.state.withLock { $0.alarms.append((time, action)) }
    }
  }

  /// Moves the clock on the wall alone: nothing that waits for a while is nearer.
  func advance(_ seconds: Double) { state.withLock { $0.now = $0.now.adding(seconds: seconds) } }

  /// Moves both clocks to the next alarm. False where there is none.
  func fireNext() -> Bool {
    let action = state.withLock { state -> Alarms.Action? in
      guard let index = state.alarms.indices.min(by: { state.alarms[$0].time < state.alarms[$1].time })
      else { return nil }
      let alarm = state.alarms.remove(at: index)
      if alarm.time > state.uptime {
        let left = (alarm.time - state.uptime).components
        state.now = state.now.adding(seconds: Double(left.seconds) + Double(left.attoseconds) * 1e-18)
        state.uptime = alarm.time
      }
      return alarm.action
    }
    action?()
    return action != nil
  }
}

/// A bell that whoever listens looks at in his turn. For one thread.
final class WorldBell: Bell, @unchecked Sendable {
  /// The one that it pulls; nil: nobody is there.
  weak var target: WorldBell?
  var isRung = false
  var isHeard = false

  func ring() -> Bool {
    guard let target, target.isHeard else { return false }
    target.isRung = true
    return true
  }
}

/// What all processes of a world share.
final class WorldParts: @unchecked Sendable {
  let executor = ManualExecutor()
  var database = MemoryDatabase()
  let origin = ScriptedOrigin()
  let clock = WorldClock()
  let bodyFiles = MemoryFiles(capacity: 1 << 20)
  /// Fragments that streams were given.
  var told: [JournalFragment] = []
}

private let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
private let secrets = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]
private let pool = WorkerPool(name: "test-pool", threads: 1)

/// `ferry serve`, as far as it is not sockets.
final class ServiceProcess: @unchecked Sendable {
  let store: MemoryStore
  let carrier: ScriptedCarrier
  let service: TransferService
  /// On which the worker rings.
  let bell = WorldBell()
  /// With which it rings for the worker.
  let workerBell = WorldBell()
  var isServing = false
  /// It could not begin.
  var hasFailed = false
  var isDead = false
  var mustDispatch = true
  private let executor: ManualExecutor

  init(_ parts: WorldParts) {
    let (executor, clock) = (parts.executor, parts.clock)
    self.executor = executor
    let (hub, relay) = (EventHub(), FactRelay())
    store = MemoryStore(on: parts.database, secrets: secrets) { fragments in
      hub.publish(fragments)
      parts.told += fragments.filter { !$0.isProgressOnly }
    }
    carrier = ScriptedCarrier(parts.origin, relay) { clock.now }
    service = TransferService(
      store: store, engine: carrier, background: BackgroundCarrier(doorbell: workerBell), relay: relay,
      hub: hub, bodies: BodyDirectory(parts.bodyFiles, of: .shared), files: FileDirectory(path: "/nowhere"),
      resumeSealer: ResumeDataSealer(secrets: secrets), answerTagger: AnswerTagger(secrets: secrets),
      pool: pool, now: { clock.now }, uptime: clock.alarms.now, spawn: Spawn { executor.spawn($0) },
      logger: quiet)
    service.onOutboxNews { [weak self] in self?.mustDispatch = true }
  }

  func start() {
    executor.spawn { [self] in
      guard (try? await service.recover()) != nil else {
        hasFailed = !isDead
        return
      }
      isServing = !isDead
      bell.isHeard = true
      try? await service.catchUp()
    }
  }

  func answerBell() -> Bool {
    guard !isDead, bell.isRung else { return false }
    bell.isRung = false
    service.lookForNews()
    return true
  }

  func kill(keeping count: Int) {
    (isDead, isServing, carrier.isDead, bell.isHeard) = (true, false, true, false)
    store.crash(keeping: count)
  }
}

/// `ferry worker`, as far as it is not sockets.
final class WorkerProcess: @unchecked Sendable {
  let store: MemoryStore
  let carrier: ScriptedCarrier
  let worker: BackgroundWorker
  /// On which the service rings.
  let bell = WorldBell()
  /// With which it rings for the service.
  let serviceBell = WorldBell()
  /// It could not begin.
  var hasFailed = false
  var isDead = false
  private let executor: ManualExecutor

  init(_ parts: WorldParts) {
    let (executor, clock) = (parts.executor, parts.clock)
    self.executor = executor
    let relay = FactRelay()
    store = MemoryStore(on: parts.database, secrets: secrets)
    carrier = ScriptedCarrier(parts.origin, relay) { clock.now }
    worker = BackgroundWorker(
      store: store, engine: carrier, relay: relay, bodies: BodyDirectory(parts.bodyFiles, of: .shared),
      bell: serviceBell, alarms: clock.alarms, discretion: DiscretionaryPolicy(), now: { clock.now },
      spawn: Spawn { executor.spawn($0) }, logger: quiet)
  }

  func start(afterCrash hasCrashed: Bool) {
    executor.spawn { [self] in
      guard (try? await worker.start(afterCrash: hasCrashed)) != nil else {
        hasFailed = !isDead
        return
      }
      bell.isHeard = !isDead
      // Who rang meanwhile is heard now.
      bell.isRung = !isDead
    }
  }

  func answerBell() -> Bool {
    guard !isDead, bell.isRung else { return false }
    bell.isRung = false
    worker.lookForCommands()
    return true
  }

  func kill(keeping count: Int) {
    (isDead, carrier.isDead, bell.isHeard) = (true, true, false)
    store.crash(keeping: count)
  }
}
