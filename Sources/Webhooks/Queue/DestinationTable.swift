internal import HeapModule
internal import Limits
internal import TransferModel

/// The destinations with pending messages: those that are served now, and those that wait for a time or for room. A plain value.
///
/// Only served destinations have messages in memory. A destination whose next attempt lies in the future is a few dozen bytes.
struct DestinationTable: Sendable {
  /// A destination without messages in memory.
  private struct WaitingDestination: Sendable {
    let tenant: Tenant
    let health: DestinationHealth
    /// The time of its next attempt; `nil` if only room is missing.
    var dueAt: Timestamp?
    /// The end of the pause after many failures, or after an attempt at a limited rate.
    var pausedUntil: Timestamp?
    var includesFutureAttempts = false
  }
  private struct DueTime: Comparable, Sendable {
    let time: Timestamp
    let destination: DestinationID
    static func < (left: Self, right: Self) -> Bool {
      (left.time, left.destination) < (right.time, right.destination)
    }
  }

  /// The destinations that a tenant may have even if there is no room.
  private static let reserved = 16

  private(set) var served: [DestinationID: DestinationQueue] = [:]
  private var waiting: [DestinationID: WaitingDestination] = [:]
  private var servedOfTenant: [Tenant: Int] = [:]
  /// Waiting destinations that lack room.
  private var line = FairRing<Tenant, DestinationID>()
  /// Whether room was made since the line was last looked at.
  private var hasNewRoom = false
  /// The next attempts of messages that are in the ledger only. Outdated ones are skipped.
  private var dueTimes = Heap<DueTime>()
  /// Destinations that responded well and have no messages now.
  private var wellKnown: Set<DestinationID> = []
  /// Whether a destination that is due was left out.
  private(set) var hasUnknownDestinations = false
  /// The first due time of destinations that were left out.
  private(set) var forgottenAt: Timestamp?

  /// Whether each destination with pending messages is in the table.
  var isComplete: Bool { !hasUnknownDestinations && forgottenAt == nil }
  var hasSpareRoom: Bool { line.isEmpty && served.count < Limits.destinations.value / 2 }
  /// The time at which `wake` has something to do.
  var nextDue: Timestamp? { [dueTimes.min?.time, forgottenAt].compactMap(\.self).min() }

  var alarmCount: Int { dueTimes.count }

  // MARK: Serving

  /// Begins to serve a destination, or puts it in the line.
  /// - Parameters:
  ///   - isKnown: whether the ledger has no other messages to it.
  ///   - includesFutureAttempts: whether its clock may have been set back since its last attempt.
  /// - Returns: whether it is served.
  mutating func serve(
    _ id: DestinationID, of tenant: Tenant, isKnown: Bool, includesFutureAttempts: Bool
  ) -> Bool {
    if served[id] != nil { return true }
    let known = waiting[id]
    guard hasRoom(for: tenant) else {
      queue(id, of: tenant, includesFutureAttempts: includesFutureAttempts)
      return false
    }
    waiting[id] = nil
    var destination = DestinationQueue(
      id, of: tenant, isKnown: isKnown && known == nil, includesFutureAttempts: includesFutureAttempts)
    destination.health = known?.health ?? DestinationHealth(isHealthy: wellKnown.remove(id) != nil)
    served[id] = destination
    servedOfTenant[tenant, default: 0] += 1
    return true
  }

  /// A tenant has at most three quarters of the room, and always a few reserved destinations.
  private func hasRoom(for tenant: Tenant) -> Bool {
    let (all, own) = (Limits.destinations.value, servedOfTenant[tenant] ?? 0)
    return served.count < all && own < all / 4 * 3 || own < Self.reserved && served.count < 2 * all
  }

  private mutating func queue(_ id: DestinationID, of tenant: Tenant, includesFutureAttempts: Bool) {
    let known = waiting[id]
    guard known != nil || waiting.count < Limits.waitingDestinations.value else {
      hasUnknownDestinations = true
      return
    }
    var destination =
      known
      ?? WaitingDestination(tenant: tenant, health: DestinationHealth(isHealthy: wellKnown.remove(id) != nil))
    if known == nil || known?.dueAt != nil { line.append(id, of: tenant) }
    destination.dueAt = nil
    if includesFutureAttempts { destination.includesFutureAttempts = true }
    waiting[id] = destination
  }

  /// Changes a destination that is served.
  /// - Returns: the destination after the change; `nil` if it is not served.
  mutating func change(_ id: DestinationID, _ body: (inout DestinationQueue) -> Void) -> DestinationQueue? {
    guard let index = served.index(forKey: id) else { return nil }
    body(&served.values[index])
    return served.values[index]
  }

  /// Notes that nothing is pending for a destination.
  mutating func remove(_ id: DestinationID) {
    guard let destination = stop(id), destination.health.isProven else { return }
    if wellKnown.count >= Limits.destinations.value { wellKnown.removeAll() }
    wellKnown.insert(id)
  }

  /// Stops serving a destination until its next attempt.
  /// - Parameter pauseEnd: the end of a pause after many failures, or after an attempt at a limited rate.
  mutating func wait(_ id: DestinationID, until time: Timestamp, pauseEnd: Timestamp?) {
    guard let destination = stop(id) else { return }
    waiting[id] = WaitingDestination(
      tenant: destination.tenant, health: destination.health, dueAt: time, pausedUntil: pauseEnd)
    setAlarm(for: id, at: time)
    if waiting.count > Limits.waitingDestinations.value { leaveOutLatest() }
  }

  private mutating func stop(_ id: DestinationID) -> DestinationQueue? {
    guard let destination = served.removeValue(forKey: id) else { return nil }
    let left = (servedOfTenant[destination.tenant] ?? 1) - 1
    servedOfTenant[destination.tenant] = left == 0 ? nil : left
    hasNewRoom = true
    return destination
  }

  private mutating func leaveOutLatest() {
    while let last = dueTimes.popMax() {
      guard waiting[last.destination]?.dueAt == last.time else { continue }
      waiting[last.destination] = nil
      forgottenAt = min(forgottenAt ?? last.time, last.time)
      return
    }
  }

  // MARK: Time

  /// Sets an alarm for the next attempt of messages that are in the ledger only.
  mutating func setAlarm(for id: DestinationID, at time: Timestamp) {
    dueTimes.insert(DueTime(time: time, destination: id))
    guard dueTimes.count > 2 * (waiting.count + served.count) + 1000 else { return }
    // Outdated ones are dropped.
    dueTimes = Heap(
      served.compactMap { id, destination in destination.alarmFor.map { DueTime(time: $0, destination: id) } }
        + waiting.compactMap { id, destination in
          destination.dueAt.map { DueTime(time: $0, destination: id) }
        })
  }

  /// Notes a message in the ledger to a destination that waits.
  /// - Parameter time: the time of the message's next attempt.
  /// - Returns: `false` if the destination does not wait.
  mutating func note(_ time: Timestamp, for id: DestinationID) -> Bool {
    guard let destination = waiting[id] else { return false }
    let due = max(time, destination.pausedUntil ?? time)
    if let known = destination.dueAt, due < known {
      waiting[id]?.dueAt = due
      setAlarm(for: id, at: due)
    }
    return true
  }

  /// Begins to serve destinations whose time has come or that have room now.
  /// - Returns: the destinations to look at.
  mutating func wake(at now: Timestamp) -> [DestinationID] {
    var found: [DestinationID] = []
    while let first = dueTimes.min, first.time <= now {
      dueTimes.removeMin()
      let id = first.destination
      if let destination = waiting[id], destination.dueAt == first.time {
        if serve(id, of: destination.tenant, isKnown: false, includesFutureAttempts: false) {
          found.append(id)
        }
      } else if served[id]?.alarmFor == first.time {
        served[id]?.alarmRings(at: now)
        found.append(id)
      }
    }
    guard hasNewRoom else { return found }
    hasNewRoom = false
    found += serveLine()
    return found
  }

  /// Serves destinations of the line while there is room for their tenants.
  private mutating func serveLine() -> [DestinationID] {
    var found: [DestinationID] = []
    var misses = 0
    while misses < line.groupCount, let id = line.popFirst() {
      guard let destination = waiting[id], destination.dueAt == nil else { continue }
      guard hasRoom(for: destination.tenant) else {
        line.append(id, of: destination.tenant)
        misses += 1
        continue
      }
      _ = serve(
        id, of: destination.tenant, isKnown: false,
        includesFutureAttempts: destination.includesFutureAttempts)
      found.append(id)
    }
    return found
  }

  /// Notes that the ledger is scanned from its beginning.
  mutating func willScan() { (hasUnknownDestinations, forgottenAt) = (false, nil) }
}
