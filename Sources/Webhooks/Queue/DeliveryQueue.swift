internal import DequeModule
internal import HeapModule
internal import Limits
package import TransferModel

/// The state machine of the webhook dispatcher: it decides which messages are read from the ledger and which are sent. A plain value.
///
/// - Destinations are served in turn, tenant by tenant. Each has limits of its own, so that a slow one delays no other.
/// - A destination whose last attempts failed, or that is new, competes only with others of this kind.
/// - An attempt that takes more than a second no longer counts towards `webhook-attempts`.
/// - A message is sent after the commit with the result of the one before it. The order therefore survives a crash.
/// - Messages that were just committed are sent from memory while the destination's window has room. Others are read from the ledger.
package struct DeliveryQueue: Sendable {
  /// A step that the shell carries out.
  package enum Action: Sendable {
    case attempt(WebhookDelivery)
    case load(DueDeliveryRequest)
    /// Reads a page of the destinations with pending deliveries.
    case scan(after: DestinationID?)
  }
  /// A page of messages to read.
  package struct DueDeliveryRequest: Sendable {
    package let destination: DestinationID
    package let limit: Int
    package let excluded: Set<DeliveryID>
    package let includesFutureAttempts: Bool
  }
  /// The limits of one destination.
  package struct Policy: Sendable, Equatable {
    package var maximumConcurrency = WebhookEndpoint.Settings.defaultConcurrency
    /// Attempts a second; `nil` for no limit.
    package var maximumPerSecond: Double?
    package var isEnabled = true
    package init() {}
  }
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

  private var destinations: [DestinationID: DestinationQueue] = [:]
  /// Destinations that responded well and have no messages now.
  private var wellKnown: Set<DestinationID> = []
  /// The policies of endpoints.
  private var policies: [DestinationID: Policy] = [:]
  /// Destinations with messages to send: healthy ones, and the others.
  private var proven = FairRing<Tenant?, DestinationID>()
  private var unproven = FairRing<Tenant?, DestinationID>()
  /// Destinations whose next page is to be read.
  private var toLoad = Deque<DestinationID>()
  private var pages = 0
  private var pools = AttemptPools()
  private var heldBytes = 0
  private var alarms = Heap<Alarm>()
  /// The place from which the next scan continues; `nil` if no scan is wanted.
  private var scan: ScanState?
  private enum ScanState: Sendable { case wanted(after: DestinationID?), reading }
  private var shardsArrive = false
  /// Whether a destination was left out for want of room.
  private var hasUnknownDestinations = false
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
  package var heldCount: Int { destinations.values.reduce(0) { $0 + $1.held.count } }

  // MARK: Inputs

  /// Replaces the policies of all endpoints.
  package mutating func replacePolicies(_ policies: [DestinationID: Policy]) {
    let old = self.policies
    self.policies = policies
    for id in policies.keys.sorted() {
      let isEnabled = policies[id]?.isEnabled == true
      if isEnabled, old[id]?.isEnabled == false { change(id) { $0.reload() } }
      if !isEnabled { change(id) { $0.releaseReady() } }
    }
  }

  /// Adds messages that were just committed.
  package mutating func add(_ deliveries: [WebhookDelivery], at now: Now) {
    for delivery in deliveries {
      guard makeDestination(delivery.destination, of: delivery.tenant, isKnown: true) else { continue }
      let hasRoom =
        heldBytes < Limits.waitingDeliveryBytes.value && policy(of: delivery.destination).isEnabled
        && !shardsArrive
      change(delivery.destination) { destination in
        if destination.tenant == nil { destination.tenant = delivery.tenant }
        destination.add(delivery, isDue: delivery.nextAttemptAt <= now.wall, hasRoom: hasRoom)
      }
    }
  }

  /// Leaves new messages in the ledger until `addShards`, because the ledger may have earlier messages of their tasks.
  package mutating func prepareForShards() { shardsArrive = true }

  package mutating func addShards() {
    shardsArrive = false
    rescan()
  }

  /// Reads the ledger again, because it may have messages that are not in memory.
  package mutating func rescan() {
    scan = .wanted(after: nil)
    // Sorted, so that the same inputs have the same results.
    for id in destinations.keys.sorted() { change(id) { $0.reload() } }
  }

  /// Adds a page of a scan.
  package mutating func scanned(_ page: [DestinationID], limit: Int) {
    for id in page {
      if destinations[id] != nil {
        change(id) { $0.reload() }
      } else {
        _ = makeDestination(id, of: nil, isKnown: false)
        change(id) { _ in }
      }
    }
    if page.count < limit || hasUnknownDestinations {
      scan = nil
    } else {
      scan = .wanted(after: page.last)
    }
  }

  package mutating func scanFailed() { scan = .wanted(after: nil) }

  /// Adds a page of messages; `nil` if it could not be read.
  package mutating func loaded(_ page: LoadedPage?, for id: DestinationID) {
    pages -= 1
    change(id) { destination in
      guard let page else {
        (destination.isLoading, destination.hasMore) = (false, true)
        return
      }
      destination.tenant = destination.tenant ?? page.deliveries.first?.tenant
      destination.add(page.deliveries, isLast: page.isLast, nextAttemptAt: page.nextAttemptAt)
    }
  }

  /// A page of messages that are due.
  package struct LoadedPage: Sendable {
    package let deliveries: [WebhookDelivery]
    package let isLast: Bool
    package let nextAttemptAt: Timestamp?
    package init(_ deliveries: [WebhookDelivery], isLast: Bool, nextAttemptAt: Timestamp?) {
      (self.deliveries, self.isLast, self.nextAttemptAt) = (deliveries, isLast, nextAttemptAt)
    }
  }

  /// Reports the end of an attempt. The message is kept until its result is recorded.
  /// - Parameters:
  ///   - succeeded: `nil` if no request was made.
  ///   - isGone: whether the destination is an endpoint that is about to be disabled.
  package mutating func ended(_ id: DeliveryID, succeeded: Bool?, isGone: Bool = false, at now: Now) {
    guard let destination = pools.end(id) else { return }
    if isGone { policies[destination]?.isEnabled = false }
    change(destination) { destination in
      destination.inFlight -= 1
      switch succeeded {
      case true?: destination.health.succeed()
      case false?: destination.health.fail(at: now.uptime)
      case nil: break
      }
    }
  }

  /// Reports that the results of attempts are committed.
  package mutating func recorded(_ deliveries: [WebhookDelivery]) {
    for delivery in deliveries { change(delivery.destination) { $0.remove(delivery) } }
  }

  /// Reports a message that another service sends now.
  package mutating func released(_ delivery: WebhookDelivery) {
    let wasRunning = pools.end(delivery.id) != nil
    change(delivery.destination) { destination in
      if wasRunning { destination.inFlight -= 1 }
      destination.release(delivery)
    }
  }

  // MARK: Decisions

  /// Returns the next steps, and the time at which to call again.
  package mutating func next(at now: Now) -> (actions: [Action], wakeAt: ContinuousClock.Instant?) {
    compareClocks(now)
    pools.markSlow(at: now.uptime)
    ringAlarms(at: now)
    var actions: [Action] = []
    if case .wanted(let place) = scan {
      scan = .reading
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
        // An alarm that was replaced does nothing.
        guard destination.alarmAt == first.time else { return }
        (destination.alarmFor, destination.alarmAt) = (nil, nil)
        guard let due = destination.nextAttemptAt else { return }
        if due <= now.wall {
          (destination.hasMore, destination.nextAttemptAt) = (true, nil)
        }
      }
    }
  }

  private mutating func send(at now: Now, into actions: inout [Action]) {
    while pools.hasRoomForProven, let id = proven.popFirst() { send(id, at: now, into: &actions) }
    while pools.hasRoomForUnproven, let id = unproven.popFirst() { send(id, at: now, into: &actions) }
  }

  /// Sends one message of a destination that is in a ring.
  private mutating func send(_ id: DestinationID, at now: Now, into actions: inout [Action]) {
    guard destinations[id] != nil else { return }
    destinations[id]?.isQueued = false
    guard let delivery = startNext(of: id, at: now) else { return }
    actions.append(.attempt(delivery))
    change(id) { _ in }
  }

  private mutating func startNext(of id: DestinationID, at now: Now) -> WebhookDelivery? {
    guard mayStart(id, at: now), let delivery = destinations[id]?.ready.popFirst() else { return nil }
    let isProven = destinations[id]?.health.isHealthy == true
    destinations[id]?.inFlight += 1
    if let rate = policy(of: id).maximumPerSecond {
      let last = destinations[id]?.earliestStart ?? now.uptime
      destinations[id]?.earliestStart = max(last, now.uptime) + .seconds(1 / rate)
    }
    pools.start(delivery.id, to: id, isProven: isProven, at: now.uptime)
    return delivery
  }

  /// Returns whether the destination may get another attempt now. If only time is missing, sets an alarm.
  private mutating func mayStart(_ id: DestinationID, at now: Now) -> Bool {
    guard let destination = destinations[id], policy(of: id).isEnabled else { return false }
    guard destination.inFlight < concurrency(of: destination) else { return false }
    let earliest = max(destination.earliestStart ?? now.uptime, destination.health.openUntil ?? now.uptime)
    guard earliest > now.uptime else { return true }
    if destination.startAlarm != earliest {
      destinations[id]?.startAlarm = earliest
      alarms.insert(Alarm(time: earliest, destination: id))
    }
    return false
  }

  private func concurrency(of destination: DestinationQueue) -> Int {
    let most = policy(of: destination.id).maximumConcurrency
    if destination.health.isHealthy { return most }
    if destination.health.isOpen { return 1 }
    // Many slow attempts: a destination that has not proved itself gets one.
    return pools.slowCount > Limits.slowAttempts.value / 4 ? 1 : min(most, 4)
  }

  private mutating func load(into actions: inout [Action]) {
    while pages < Self.pagesAtOnce, let id = toLoad.popFirst() {
      guard var destination = destinations[id] else { continue }
      destination.isQueuedToLoad = false
      guard destination.hasMore, !destination.isLoading, policy(of: id).isEnabled,
        heldBytes < Limits.waitingDeliveryBytes.value || destination.held.isEmpty
      else {
        destinations[id] = destination
        continue
      }
      let includesFuture = destination.beginLoading()
      destinations[id] = destination
      pages += 1
      actions.append(
        .load(
          DueDeliveryRequest(
            destination: id, limit: Self.pageSize, excluded: destination.held,
            includesFutureAttempts: includesFuture)))
    }
    // A scan for destinations that were left out.
    if hasUnknownDestinations, scan == nil, destinations.count < Limits.destinations.value / 2 {
      hasUnknownDestinations = false
      scan = .reading
      actions.append(.scan(after: nil))
    }
  }

  private func wakeTime(at now: Now) -> ContinuousClock.Instant? {
    guard let time = [alarms.min?.time, pools.nextRoom].compactMap(\.self).min() else { return nil }
    return min(time, now.uptime + Self.longestSleep)
  }

  // MARK: Destinations

  private func policy(of id: DestinationID) -> Policy { policies[id] ?? Policy() }

  /// - Parameter isKnown: whether the ledger has no other messages to the destination.
  /// - Returns: whether the destination is in memory.
  private mutating func makeDestination(_ id: DestinationID, of tenant: Tenant?, isKnown: Bool) -> Bool {
    if destinations[id] != nil { return true }
    guard destinations.count < Limits.destinations.value else {
      hasUnknownDestinations = true
      return false
    }
    // While the ledger is being scanned, it may have earlier messages to any destination.
    var made = DestinationQueue(id, of: tenant, isKnown: isKnown && scan == nil && !hasUnknownDestinations)
    made.health = DestinationHealth(isHealthy: wellKnown.remove(id) != nil)
    destinations[id] = made
    return true
  }

  /// Changes a destination, then puts it into the queues that it belongs to.
  private mutating func change(_ id: DestinationID, _ body: (inout DestinationQueue) -> Void) {
    guard let index = destinations.index(forKey: id) else { return }
    let bytes = destinations.values[index].heldBytes
    body(&destinations.values[index])
    heldBytes += destinations.values[index].heldBytes - bytes
    let destination = destinations.values[index]
    if destination.isEmpty {
      if destination.health.isHealthy { remember(id) }
      destinations.remove(at: index)
      return
    }
    guard policy(of: id).isEnabled else { return }
    if !destination.ready.isEmpty, !destination.isQueued, destination.inFlight < concurrency(of: destination)
    {
      destinations.values[index].isQueued = true
      if destination.health.isHealthy {
        proven.append(id, of: destination.tenant)
      } else {
        unproven.append(id, of: destination.tenant)
      }
    }
    if destination.hasMore, !destination.isLoading, !destination.isQueuedToLoad,
      destination.held.count < Limits.destinationDeliveries.value / 2
    {
      destinations.values[index].isQueuedToLoad = true
      toLoad.append(id)
    }
    setAlarm(index)
  }

  private mutating func setAlarm(_ index: Dictionary<DestinationID, DestinationQueue>.Index) {
    guard let due = destinations.values[index].nextAttemptAt, destinations.values[index].alarmFor != due
    else { return }
    destinations.values[index].alarmFor = due
    let left = min(max(0.001, due.since(lastClocks.wall)), Self.longestSleep / .seconds(1))
    let time = lastClocks.uptime + .seconds(left)
    destinations.values[index].alarmAt = time
    alarms.insert(Alarm(time: time, destination: destinations.keys[index]))
  }

  private mutating func remember(_ id: DestinationID) {
    if wellKnown.count >= Limits.destinations.value { wellKnown.removeAll() }
    wellKnown.insert(id)
  }
}
