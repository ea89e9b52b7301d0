internal import DequeModule
internal import HeapModule
internal import Limits
internal import TransferCore
package import TransferModel

/// The state machine of the webhook dispatcher: it decides which messages are read from the ledger and which are sent. A plain value.
///
/// - Destinations are served in turn, tenant by tenant. Each has limits of its own, so that a slow one delays no other.
/// - A destination whose last attempts failed, or that is new, competes only with others of this kind.
/// - An attempt that takes more than a second no longer counts towards `webhook-attempts`.
/// - A message is sent after the commit with the result of the one before it. The order therefore survives a crash.
/// - Messages that were just committed are sent from memory while the destination's window has room. Others are read from the ledger.
package struct DeliveryQueue: Sendable {
  /// The clocks at an input.
  package struct Now: Sendable {
    package let wall: Timestamp
    package let uptime: ContinuousClock.Instant
    package init(wall: Timestamp, uptime: ContinuousClock.Instant) {
      (self.wall, self.uptime) = (wall, uptime)
    }
  }
  private struct Alarm: Comparable, Sendable {
    let time: ContinuousClock.Instant
    let destination: DestinationID
    static func < (left: Self, right: Self) -> Bool {
      (left.time, left.destination) < (right.time, right.destination)
    }
  }

  /// Pages that are read at the same time.
  private static let pagesAtOnce = 8
  private static let pageSize = 64
  /// The clock is compared at least this often.
  private static let longestSleep = Duration.seconds(60)
  static let destinationsPerScan = 500

  private var destinations = DestinationTable()
  /// The policies of endpoints.
  private var policies: [DestinationID: Policy] = [:]
  /// Destinations with messages to send: healthy ones, and the others.
  private var proven = FairRing<Tenant, DestinationID>()
  private var unproven = FairRing<Tenant, DestinationID>()
  /// Destinations whose next page is to be read.
  private var toLoad = Deque<DestinationID>()
  private var pages = 0
  private var pools = AttemptPools()
  /// Messages that are being sent or recorded, and that a client wants again.
  private var redelivered: Set<DeliveryID> = []
  private var heldBytes = 0
  private var alarms = Heap<Alarm>()
  private var scan: ScanState
  private enum ScanState: Sendable, Equatable {
    case none
    case wanted(after: DestinationID?)
    /// A page is being read. Afterwards the scan may have to begin anew.
    case reading(beginsAnew: Bool)
  }
  private var scanIncludesFutureAttempts = true
  private var shardsArrive = false
  /// The clocks at the last input, to notice that the wall clock was set back.
  private var lastClocks: Now

  /// Begins with a scan of the ledger.
  package init(at now: Now) {
    scan = .wanted(after: nil)
    lastClocks = now
  }

  /// The number of attempts that are running.
  package var inFlight: Int { pools.count }
  /// The number of messages in memory.
  package var heldCount: Int { destinations.served.values.reduce(0) { $0 + $1.held.count } }

  // MARK: Inputs

  /// Replaces the policies of all endpoints.
  package mutating func replacePolicies(_ policies: [PendingDestination: Policy]) {
    let old = self.policies
    self.policies = Dictionary(policies.map { ($0.id, $1) }, uniquingKeysWith: { $1 })
    for destination in policies.keys.sorted(by: { $0.id < $1.id }) {
      let isEnabled = policies[destination]?.isEnabled == true
      if isEnabled, old[destination.id]?.isEnabled == false, !InjectedFault.forgetsEnabledEndpoints.isPresent
      {
        reload([destination])
      }
      if !isEnabled { change(destination.id) { $0.releaseReady() } }
    }
  }

  /// Adds messages that were just committed.
  package mutating func add(_ deliveries: [WebhookDelivery], at now: Now) {
    for delivery in deliveries {
      let id = delivery.destination
      // The messages of a disabled endpoint are read when it is enabled.
      guard policy(of: id).isEnabled else { continue }
      if destinations.note(delivery.nextAttemptAt, for: id) { continue }
      // While the ledger is being scanned, it may have earlier messages to any destination.
      guard
        destinations.serve(
          id, of: delivery.tenant, isKnown: scan == .none && destinations.isComplete,
          includesFutureAttempts: false)
      else { continue }
      let hasRoom = heldBytes < Limits.waitingDeliveryBytes.value && !shardsArrive
      change(id) { $0.add(delivery, isDue: delivery.nextAttemptAt <= now.wall, hasRoom: hasRoom) }
    }
  }

  /// Sends a message again at a client's request. Messages that waited for it may now be sent.
  package mutating func redeliver(_ delivery: WebhookDelivery, at now: Now) {
    var isBusy = false
    change(delivery.destination) { isBusy = $0.redeliver(delivery) }
    if isBusy { redelivered.insert(delivery.id) } else { add([delivery], at: now) }
    reload([PendingDestination(delivery.destination, of: delivery.tenant)])
  }

  /// - Returns: whether a client has asked for the message again since it was sent.
  package mutating func takeRedelivery(of id: DeliveryID) -> Bool { redelivered.remove(id) != nil }

  /// Leaves new messages in the ledger until `addShards`, because the ledger may have earlier messages of their tasks.
  package mutating func prepareForShards() { shardsArrive = true }

  package mutating func addShards() {
    shardsArrive = false
    rescan()
  }

  /// Reads the ledger again, because it may have messages that are not in memory.
  /// - Parameter includesFutureAttempts: whether a clock may have been set back since the last attempts.
  package mutating func rescan(includesFutureAttempts: Bool = true) {
    scanIncludesFutureAttempts = scanIncludesFutureAttempts || includesFutureAttempts
    beginScan()
    // Sorted, so that the same inputs have the same results.
    for id in destinations.served.keys.sorted() { change(id) { $0.reload() } }
  }

  private mutating func beginScan() {
    destinations.willScan()
    if case .reading = scan { scan = .reading(beginsAnew: true) } else { scan = .wanted(after: nil) }
  }

  /// Reads the messages to some destinations again, because the ledger may have some that are not in memory.
  package mutating func reload(_ changed: [PendingDestination]) {
    for destination in changed where policy(of: destination.id).isEnabled {
      let isServed = destinations.serve(
        destination.id, of: destination.tenant, isKnown: false, includesFutureAttempts: true)
      if isServed { change(destination.id) { $0.reload() } }
    }
  }

  /// Adds a page of a scan.
  package mutating func scanned(_ page: [PendingDestination], limit: Int) {
    // A destination that waits for an attempt is left waiting.
    reload(
      page.filter { destination in
        guard !scanIncludesFutureAttempts, let time = destination.nextAttemptAt else { return true }
        return !destinations.note(time, for: destination.id)
      })
    if scan == .reading(beginsAnew: true) {
      scan = .wanted(after: nil)
    } else if page.count < limit || destinations.hasUnknownDestinations {
      (scan, scanIncludesFutureAttempts) = (.none, false)
    } else {
      scan = .wanted(after: page.last?.id)
    }
  }

  package mutating func scanFailed() {
    scan = .none
    beginScan()
  }

  /// Adds a page of messages; `nil` if it could not be read.
  package mutating func loaded(_ page: LoadedPage?, for id: DestinationID) {
    pages -= 1
    change(id) { destination in
      guard let page else {
        (destination.isLoading, destination.hasMore) = (false, true)
        return
      }
      destination.add(page.deliveries, isLast: page.isLast, nextAttemptAt: page.nextAttemptAt)
    }
  }

  /// Reports the end of an attempt. The message is kept until its result is recorded.
  /// - Parameters:
  ///   - succeeded: `nil` if no request was made.
  ///   - isGone: whether the destination is an endpoint that is about to be disabled.
  package mutating func ended(_ id: DeliveryID, succeeded: Bool?, isGone: Bool = false, at now: Now) {
    guard let (destination, isSlow) = pools.end(id) else { return }
    if isGone { policies[destination]?.isEnabled = false }
    change(destination) { destination in
      destination.inFlight -= 1
      switch succeeded {
      case true?: destination.health.succeed(isSlow: isSlow)
      case false?: destination.health.fail(at: now.uptime)
      case nil: break
      }
    }
  }

  /// Reports that the results of attempts are committed.
  package mutating func recorded(_ deliveries: [WebhookDelivery]) {
    for delivery in deliveries { change(delivery.destination) { $0.remove(delivery) } }
  }

  /// Reports a message that is left in the ledger.
  /// - Parameter isSentHere: whether this service sends it later. Otherwise another service sends it now.
  package mutating func released(_ delivery: WebhookDelivery, isSentHere: Bool = false) {
    let wasRunning = pools.end(delivery.id) != nil
    change(delivery.destination) { destination in
      if wasRunning { destination.inFlight -= 1 }
      destination.release(delivery)
      if isSentHere { destination.reload() }
    }
  }

  // MARK: Decisions

  /// Returns the next steps, and the time at which to call again.
  package mutating func next(at now: Now) -> (actions: [Action], wakeAt: ContinuousClock.Instant?) {
    compareClocks(now)
    for id in pools.markSlow(at: now.uptime) { change(id) { $0.health.becomeSlow() } }
    ringAlarms(at: now)
    if destinations.hasUnknownDestinations, scan == .none, destinations.hasSpareRoom { beginScan() }
    var actions: [Action] = []
    if case .wanted(let place) = scan {
      scan = .reading(beginsAnew: false)
      actions.append(.scan(after: place))
    }
    send(at: now, into: &actions)
    load(into: &actions)
    return (actions, wakeTime(at: now))
  }

  /// Notices that the wall clock was set back. The times of later attempts then lie too far in the future.
  private mutating func compareClocks(_ now: Now) {
    let passed = (now.uptime - lastClocks.uptime) / .seconds(1)
    let wasSetBack = now.wall.since(lastClocks.wall) < passed - 60
    lastClocks = now
    if wasSetBack { rescan() }
  }

  private mutating func ringAlarms(at now: Now) {
    while let first = alarms.min, first.time <= now.uptime {
      alarms.removeMin()
      change(first.destination) { destination in
        if destination.startAlarm == first.time { destination.startAlarm = nil }
      }
    }
    if let time = destinations.forgottenAt, time <= now.wall { beginScan() }
    for id in destinations.wake(at: now.wall) { change(id) { _ in } }
  }

  private mutating func send(at now: Now, into actions: inout [Action]) {
    while pools.hasRoomForProven, let id = proven.popFirst() { send(id, at: now, into: &actions) }
    while pools.hasRoomForUnproven, let id = unproven.popFirst() { send(id, at: now, into: &actions) }
  }

  /// Sends one message of a destination that is in a ring.
  private mutating func send(_ id: DestinationID, at now: Now, into actions: inout [Action]) {
    _ = destinations.change(id) { $0.isQueued = false }
    guard let delivery = startNext(of: id, at: now) else { return }
    actions.append(.attempt(delivery))
    change(id) { _ in }
  }

  private mutating func startNext(of id: DestinationID, at now: Now) -> WebhookDelivery? {
    guard mayStart(id, at: now) else { return nil }
    let rate = policy(of: id).maximumPerSecond
    var next: WebhookDelivery?
    let destination = destinations.change(id) { destination in
      next = destination.ready.popFirst()
      guard next != nil else { return }
      destination.inFlight += 1
      guard let rate else { return }
      destination.earliestStart =
        max(destination.earliestStart ?? now.uptime, now.uptime) + .seconds(1 / rate)
    }
    guard let destination, let next else { return nil }
    pools.start(next.id, to: id, isProven: destination.health.isProven, at: now.uptime)
    return next
  }

  /// Returns whether the destination may get another attempt now. If only time is missing, sets an alarm.
  private mutating func mayStart(_ id: DestinationID, at now: Now) -> Bool {
    guard let destination = destinations.served[id], policy(of: id).isEnabled else { return false }
    guard destination.inFlight < concurrency(of: destination) else { return false }
    let earliest = max(destination.earliestStart ?? now.uptime, destination.health.openUntil ?? now.uptime)
    guard earliest > now.uptime else { return true }
    if destination.startAlarm != earliest {
      _ = destinations.change(id) { $0.startAlarm = earliest }
      alarms.insert(Alarm(time: earliest, destination: id))
    }
    return false
  }

  private func concurrency(of destination: DestinationQueue) -> Int {
    let most = policy(of: destination.id).maximumConcurrency
    if destination.health.isProven { return most }
    if destination.health.isOpen { return 1 }
    // Many slow attempts: a destination that has not proved itself gets one.
    if pools.slowCount > Limits.slowAttempts.value / 4 { return 1 }
    return destination.health.isHealthy ? most : min(most, 4)
  }

  private mutating func load(into actions: inout [Action]) {
    while pages < Self.pagesAtOnce, let id = toLoad.popFirst() {
      let isFull = heldBytes >= Limits.waitingDeliveryBytes.value
      let isEnabled = policy(of: id).isEnabled
      _ = destinations.change(id) { destination in
        destination.isQueuedToLoad = false
        guard destination.hasMore, !destination.isLoading, isEnabled, !isFull || destination.held.isEmpty
        else { return }
        let includesFuture = destination.beginLoading()
        actions.append(
          .load(
            DueDeliveryRequest(
              destination: id, limit: Self.pageSize, excluded: destination.held,
              includesFutureAttempts: includesFuture)))
        pages += 1
      }
    }
  }

  private func wakeTime(at now: Now) -> ContinuousClock.Instant? {
    let due = destinations.nextDue.map { now.uptime + .seconds(max(0.001, $0.since(now.wall))) }
    guard let time = [alarms.min?.time, pools.nextRoom, due].compactMap(\.self).min() else { return nil }
    return min(time, now.uptime + Self.longestSleep)
  }

  // MARK: Destinations

  private func policy(of id: DestinationID) -> Policy { policies[id] ?? Policy() }

  /// Changes a destination that is served, then puts it into the queues that it belongs to.
  private mutating func change(_ id: DestinationID, _ body: (inout DestinationQueue) -> Void) {
    guard let bytes = destinations.served[id]?.heldBytes else { return }
    var destination = destinations.change(id, body)
    let pauseEnd = destination?.health.openUntil.flatMap { wallTime(of: $0) }
    if let pauseEnd, let known = destination, known.mayPause {
      destination = destinations.change(id) { $0.pause(until: pauseEnd) }
    }
    guard let destination else { return }
    heldBytes += destination.heldBytes - bytes
    guard policy(of: id).isEnabled else {
      if destination.held.isEmpty, !destination.isLoading { destinations.remove(id) }
      return
    }
    if destination.isIdle {
      // The limit of the rate also holds for the next message.
      let rateEnd = destination.earliestStart.flatMap { wallTime(of: $0) }
      guard let due = [destination.nextAttemptAt, rateEnd].compactMap(\.self).max() else {
        return destinations.remove(id)
      }
      return destinations.wait(id, until: due, pauseEnd: [pauseEnd, rateEnd].compactMap(\.self).max())
    }
    enqueue(destination)
  }

  /// Returns the present wall time of an instant in the future; `nil` if it is past.
  private func wallTime(of instant: ContinuousClock.Instant) -> Timestamp? {
    guard instant > lastClocks.uptime else { return nil }
    return lastClocks.wall.adding(seconds: (instant - lastClocks.uptime) / .seconds(1))
  }

  private mutating func enqueue(_ destination: DestinationQueue) {
    let id = destination.id
    if !destination.ready.isEmpty, !destination.isQueued, destination.inFlight < concurrency(of: destination)
    {
      _ = destinations.change(id) { $0.isQueued = true }
      if destination.health.isProven {
        proven.append(id, of: destination.tenant)
      } else {
        unproven.append(id, of: destination.tenant)
      }
    }
    if destination.hasMore, !destination.isLoading, !destination.isQueuedToLoad,
      destination.held.count < Limits.destinationDeliveries.value / 2
    {
      _ = destinations.change(id) { $0.isQueuedToLoad = true }
      toLoad.append(id)
    }
    if let due = destination.nextAttemptAt, destination.alarmFor != due {
      _ = destinations.change(id) { $0.alarmFor = due }
      destinations.setAlarm(for: id, at: due)
    }
  }
}
