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

    /// Returns a value that is greater than those of all deliveries of `time`.
    static func end(of time: Timestamp) -> Self { DeliveryByTime(time: time, place: .max) }
  }

  private var rows = SortedTable<Int, WebhookDelivery>()
  private var places: [DeliveryID: Int] = [:]
  private var placesOfSession = SortedGroups<SessionID, Int>()
  /// Pending deliveries by the time of their next attempt.
  private var due = SortedKeys<DeliveryByTime>()
  /// Pending deliveries by the time of their last attempt.
  private var tried = SortedKeys<DeliveryByTime>()
  /// The others by the time at which they succeeded or were given up.
  private var finished = SortedKeys<DeliveryByTime>()
  /// The number of pending deliveries by task. Wake-up messages have no task and are counted by session.
  private var pendingOfTask: [TaskID: Int] = [:]
  private var pendingWakeUps: [SessionID: Int] = [:]
  private var next = 0

  package func has(_ id: DeliveryID) -> Bool { places[id] != nil }
  var memorySize: Int {
    rows.memorySize + placesOfSession.memorySize + due.memorySize + tried.memorySize + finished.memorySize
  }

  // MARK: Reading

  func hasPending(of task: TaskID) -> Bool { pendingOfTask[task] != nil }
  func hasPendingWakeUp(of session: SessionID) -> Bool { pendingWakeUps[session] != nil }

  /// Pending deliveries by the time of their next attempt.
  var pending: some Sequence<WebhookDelivery> {
    due.all().lazy.compactMap { rows[$0.key.place] }
  }

  /// Pending deliveries in the order in which they were written.
  var pendingAsWritten: [WebhookDelivery] {
    due.all().map(\.key.place).sorted().compactMap { rows[$0] }
  }

  /// Returns pending deliveries that are due at `time`.
  func due(at time: Timestamp) -> some Sequence<WebhookDelivery> {
    due.all().lazy.prefix { $0.key.time <= time }.compactMap { rows[$0.key.place] }
  }

  /// Returns pending deliveries whose last attempt was after `time`.
  func tried(after time: Timestamp) -> some Sequence<WebhookDelivery> {
    tried.all(after: .end(of: time)).lazy.compactMap { rows[$0.key.place] }
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
    let queued = delivery.asQueued
    rows.set(queued, for: place)
    places[delivery.id] = place
    placesOfSession.insert(place, in: delivery.sessionID)
    index(queued, place)
  }

  mutating func update(_ delivery: WebhookDelivery) {
    guard let place = places[delivery.id], let before = rows[place] else { return }
    removeFromIndex(before, place)
    var after = before
    after.update(as: delivery)
    rows.set(after, for: place)
    index(after, place)
  }

  /// Removes deliveries that are no longer pending.
  mutating func remove(_ settled: some Sequence<DeliveryID>) {
    for id in settled {
      guard let place = places[id], let delivery = rows[place], delivery.state != .pending else { continue }
      removeFromIndex(delivery, place)
      places[id] = nil
      placesOfSession.remove(place, from: delivery.sessionID)
      rows.remove(place)
    }
  }

  private mutating func index(_ delivery: WebhookDelivery, _ place: Int) {
    guard delivery.state == .pending else {
      if let time = delivery.finishedAt { finished.insert(DeliveryByTime(time: time, place: place)) }
      return
    }
    due.insert(DeliveryByTime(time: delivery.nextAttemptAt, place: place))
    tried.insert(DeliveryByTime(time: delivery.lastAttemptAt, place: place))
    count(delivery, 1)
  }

  private mutating func removeFromIndex(_ delivery: WebhookDelivery, _ place: Int) {
    guard delivery.state == .pending else {
      if let time = delivery.finishedAt { finished.remove(DeliveryByTime(time: time, place: place)) }
      return
    }
    due.remove(DeliveryByTime(time: delivery.nextAttemptAt, place: place))
    tried.remove(DeliveryByTime(time: delivery.lastAttemptAt, place: place))
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
