package import TransferModel

/// The webhook deliveries in the order in which they were written. A plain value.
package struct DeliveryTable: Sendable {
  /// A delivery, ordered by one of its times.
  package struct DeliveryByTime: Comparable, Sendable {
    package let time: Timestamp
    package let place: Int

    package static func < (left: Self, right: Self) -> Bool {
      (left.time, left.place) < (right.time, right.place)
    }
  }
  /// The pending deliveries of a task to one destination that are sent in order.
  private struct Lane: Hashable {
    let task: TaskID
    let destination: DestinationID
  }

  private var rows = SortedTable<Int, WebhookDelivery>()
  private var places = SortedTable<DeliveryID, Place>()
  private var placesOfSession = SortedGroups<SessionID, Int>()
  /// Pending deliveries that wait for no earlier ones, by the time of their next attempt.
  private var ready = SortedGroups<DestinationID, DeliveryByTime>()
  /// The destinations of these.
  private var destinations = SortedKeys<DestinationID>()
  /// Pending ordered deliveries, in the order in which they were written.
  private var lanes = SortedGroups<Lane, Int>()
  /// The others by the time at which they succeeded or were given up.
  private var finished = SortedKeys<DeliveryByTime>()
  /// The number of pending deliveries by task. Wake-up messages have no task and are counted by session.
  private var pendingOfTask: [TaskID: Int] = [:]
  private var pendingWakeUps: [SessionID: Int] = [:]
  private var next = 0

  private struct Place: MemorySized {
    let value: Int
    var memorySize: Int { 0 }
  }

  package func has(_ id: DeliveryID) -> Bool { places.contains(id) }
  var memorySize: Int {
    rows.memorySize + places.memorySize + placesOfSession.memorySize + ready.memorySize
      + destinations.memorySize + lanes.memorySize + finished.memorySize
  }

  // MARK: Reading

  func hasPending(of task: TaskID) -> Bool { pendingOfTask[task] != nil }
  func hasPendingWakeUp(of session: SessionID) -> Bool { pendingWakeUps[session] != nil }

  subscript(id: DeliveryID) -> WebhookDelivery? { places[id].flatMap { rows[$0.value] } }

  /// Pending deliveries in the order in which they were written.
  var pendingAsWritten: some Sequence<WebhookDelivery> {
    rows.all().lazy.map(\.row).filter { $0.state == .pending }
  }

  /// Returns the pending deliveries to a destination that wait for no earlier ones, by the time of their next attempt.
  func ready(for destination: DestinationID) -> some Sequence<WebhookDelivery> {
    ready[destination].all().lazy.compactMap { rows[$0.key.place] }
  }

  func pendingDestinations(after: DestinationID?, limit: Int) -> [PendingDestination] {
    destinations.all(after: after).prefix(limit).compactMap { destination, _ in
      ready[destination].first.flatMap { rows[$0.key.place] }.map {
        PendingDestination(destination, of: $0.tenant, nextAttemptAt: $0.nextAttemptAt)
      }
    }
  }

  /// Returns all deliveries in an order of their ids, after `id`.
  func all(in order: ListOrder, after id: DeliveryID?) -> some Sequence<WebhookDelivery> {
    places.all(in: order, after: id).lazy.compactMap { rows[$0.row.value] }
  }

  /// Returns deliveries that succeeded or were given up by `time`.
  func finished(by time: Timestamp) -> some Sequence<WebhookDelivery> {
    finished.all().lazy.prefix { $0.key.time <= time }.compactMap { rows[$0.key.place] }
  }

  func hasAny(of session: SessionID) -> Bool { !placesOfSession[session].isEmpty }

  /// Returns the deliveries of a session that are no longer pending.
  func settled(of session: SessionID) -> some Sequence<DeliveryID> {
    placesOfSession[session].all().lazy.compactMap { rows[$0.key] }.filter { $0.state != .pending }.map(\.id)
  }

  // MARK: Writing

  mutating func insert(_ delivery: WebhookDelivery) {
    let place = next
    next += 1
    var delivery = delivery
    if let lane = Self.lane(of: delivery), !lanes[lane].isEmpty { delivery.place = .waiting }
    rows.set(delivery, for: place)
    places.set(Place(value: place), for: delivery.id)
    placesOfSession.insert(place, in: delivery.sessionID)
    index(delivery, place)
  }

  private static func lane(of delivery: WebhookDelivery) -> Lane? {
    delivery.orderedTask.map { Lane(task: $0, destination: delivery.destination) }
  }

  mutating func update(_ delivery: WebhookDelivery) {
    guard let place = places[delivery.id]?.value, let before = rows[place] else { return }
    removeFromIndex(before, place)
    var after = before
    after.update(as: delivery)
    rows.set(after, for: place)
    index(after, place)
    if let lane = Self.lane(of: before) { promote(lane, at: after.promotionTime) }
  }

  /// Makes the first delivery of a lane ready.
  private mutating func promote(_ lane: Lane, at time: Timestamp) {
    guard let place = lanes[lane].first?.key, var first = rows[place], first.place == .waiting else { return }
    removeFromIndex(first, place)
    first.place = .promoted
    first.nextAttemptAt = min(first.nextAttemptAt, time)
    rows.set(first, for: place)
    index(first, place)
  }

  /// Removes deliveries that are no longer pending.
  mutating func remove(_ settled: some Sequence<DeliveryID>) {
    for id in settled {
      guard let place = places[id]?.value, let delivery = rows[place], delivery.state != .pending else {
        continue
      }
      removeFromIndex(delivery, place)
      places.remove(id)
      placesOfSession.remove(place, from: delivery.sessionID)
      rows.remove(place)
    }
  }

  private mutating func index(_ delivery: WebhookDelivery, _ place: Int) {
    guard delivery.state == .pending else {
      if let time = delivery.finishedAt { finished.insert(DeliveryByTime(time: time, place: place)) }
      return
    }
    if delivery.place != .waiting {
      ready.insert(DeliveryByTime(time: delivery.nextAttemptAt, place: place), in: delivery.destination)
      destinations.insert(delivery.destination)
    }
    if let lane = Self.lane(of: delivery) { lanes.insert(place, in: lane) }
    count(delivery, 1)
  }

  private mutating func removeFromIndex(_ delivery: WebhookDelivery, _ place: Int) {
    guard delivery.state == .pending else {
      if let time = delivery.finishedAt { finished.remove(DeliveryByTime(time: time, place: place)) }
      return
    }
    if delivery.place != .waiting {
      ready.remove(DeliveryByTime(time: delivery.nextAttemptAt, place: place), from: delivery.destination)
      if ready[delivery.destination].isEmpty { destinations.remove(delivery.destination) }
    }
    if let lane = Self.lane(of: delivery) { lanes.remove(place, from: lane) }
    count(delivery, -1)
  }

  private mutating func count(_ pending: WebhookDelivery, _ change: Int) {
    if let task = pending.taskID {
      let left = (pendingOfTask[task] ?? 0) + change
      pendingOfTask[task] = left == 0 ? nil : left
    } else if pending.type == .sessionHandleEvents {
      let left = (pendingWakeUps[pending.sessionID] ?? 0) + change
      pendingWakeUps[pending.sessionID] = left == 0 ? nil : left
    }
  }
}
