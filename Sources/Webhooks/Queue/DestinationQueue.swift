internal import DequeModule
internal import Limits
internal import TransferCore
internal import TransferModel

/// The messages to one destination, as far as they are in memory, and the destination's health. A plain value.
struct DestinationQueue: Sendable {
  /// The messages of one task in order: one is the first, the others wait.
  struct Lane: Sendable {
    let first: DeliveryID
    var followers = Deque<WebhookDelivery>()
    /// Whether further messages of the task may be in the ledger only.
    var mayHaveStoredFollowers: Bool
  }

  let id: DestinationID
  let tenant: Tenant
  /// Messages that can be sent now.
  var ready = Deque<WebhookDelivery>()
  private(set) var lanes: [TaskID: Lane] = [:]
  /// All messages in memory, including those that are being sent or recorded.
  private(set) var held: Set<DeliveryID> = []
  private(set) var heldBytes = 0
  var inFlight = 0
  /// Whether the ledger may have messages that are due and not in memory.
  var hasMore: Bool
  var isLoading = false
  /// Whether a message was left in the ledger while a page was being read.
  private var missedDuringLoad = false
  /// The next attempt of the messages that are in the ledger only.
  var nextAttemptAt: Timestamp?
  /// The tasks that may have a first message in the ledger only; `nil` if not all of them are known.
  private var storedTasks: Set<TaskID>?
  /// Whether the destination waits for its turn to send, and to read its next page.
  var (isQueued, isQueuedToLoad) = (false, false)
  /// The value of `nextAttemptAt` for which an alarm is set.
  var alarmFor: Timestamp?
  /// The alarm for the next start.
  var startAlarm: ContinuousClock.Instant?
  /// The earliest start of the next attempt, by the limit of the rate.
  var earliestStart: ContinuousClock.Instant?
  /// Whether the next page includes messages whose last attempt lies in the future.
  private var includesFutureAttempts: Bool
  var health = DestinationHealth()

  init(_ id: DestinationID, of tenant: Tenant, isKnown: Bool, includesFutureAttempts: Bool) {
    self.id = id
    self.tenant = tenant
    hasMore = !isKnown
    storedTasks = isKnown ? [] : nil
    self.includesFutureAttempts = includesFutureAttempts
  }

  /// Whether no message is in memory, and none in the ledger is due.
  var isIdle: Bool { held.isEmpty && !hasMore && !isLoading }

  /// Whether messages are to be sent or read, and none is on its way.
  var mayPause: Bool { inFlight == 0 && !isLoading && (hasMore || !ready.isEmpty) }

  var hasRoom: Bool { held.count < Limits.destinationDeliveries.value }

  // MARK: Adding

  /// Adds a new message that was just committed, if it fits and no earlier message is only in the ledger.
  /// - Parameter hasRoom: whether all destinations together have room for it.
  mutating func add(_ delivery: WebhookDelivery, isDue: Bool, hasRoom: Bool) {
    // A page may have been read between the commit and this call.
    guard !held.contains(delivery.id) else { return }
    let task = delivery.orderedTask
    let isBehindStored =
      task.map { task in
        storedTasks?.contains(task) ?? true || lanes[task]?.mayHaveStoredFollowers == true
      } ?? false
    guard !hasMore, !isLoading, hasRoom, self.hasRoom, isDue, !isBehindStored else {
      if isDue { hasMore = true }
      if isLoading { missedDuringLoad = true }
      if let task, lanes[task] != nil { lanes[task]?.mayHaveStoredFollowers = true }
      if !isDue {
        nextAttemptAt = min(nextAttemptAt ?? delivery.nextAttemptAt, delivery.nextAttemptAt)
        note(delivery)
      }
      return
    }
    hold(delivery)
    if let task, lanes[task] != nil, !InjectedFault.sendsOutOfOrder.isPresent {
      lanes[task]?.followers.append(delivery)
    } else {
      if let task { lanes[task] = Lane(first: delivery.id, mayHaveStoredFollowers: false) }
      ready.append(delivery)
    }
  }

  /// Sends a message that a client wants again, if it is in memory.
  /// - Returns: whether it is being sent, or its result is being recorded.
  mutating func redeliver(_ delivery: WebhookDelivery) -> Bool {
    guard held.contains(delivery.id), !ready.contains(where: { $0.id == delivery.id }) else { return false }
    guard let task = delivery.taskID,
      let place = lanes[task]?.followers.firstIndex(where: { $0.id == delivery.id })
    else { return true }
    lanes[task]?.followers.remove(at: place)
    ready.append(delivery)
    return false
  }

  /// - Returns: whether the page includes messages whose last attempt lies in the future.
  mutating func beginLoading() -> Bool {
    defer { includesFutureAttempts = false }
    (isLoading, hasMore) = (true, false)
    return includesFutureAttempts
  }

  /// Adds a page of messages from the ledger.
  mutating func add(_ page: [WebhookDelivery], isLast: Bool, nextAttemptAt: Timestamp?) {
    isLoading = false
    for delivery in page where !held.contains(delivery.id) {
      if let task = delivery.orderedTask {
        // An earlier message of the task is being recorded. A later page has this one again.
        guard lanes[task] == nil else {
          lanes[task]?.mayHaveStoredFollowers = true
          continue
        }
        lanes[task] = Lane(first: delivery.id, mayHaveStoredFollowers: true)
        storedTasks?.remove(task)
      }
      hold(delivery)
      ready.append(delivery)
    }
    hasMore = !isLast || missedDuringLoad
    missedDuringLoad = false
    // If a message was missed, the next page has the right time.
    self.nextAttemptAt = nextAttemptAt
    if isLast, nextAttemptAt == nil, !hasMore { storedTasks = [] }
  }

  private mutating func hold(_ delivery: WebhookDelivery) {
    held.insert(delivery.id)
    heldBytes += delivery.payload.count
  }

  /// Notes that the first message of a task may be in the ledger only.
  private mutating func note(_ delivery: WebhookDelivery) {
    if let task = delivery.orderedTask { note(task) }
  }

  private mutating func note(_ task: TaskID) {
    guard storedTasks != nil else { return }
    storedTasks?.insert(task)
    if storedTasks.map({ $0.count > 16 * Limits.destinationDeliveries.value }) == true { storedTasks = nil }
  }

  // MARK: Removing

  /// Removes a message whose attempt was recorded, and makes the next message of its task ready.
  mutating func remove(_ delivery: WebhookDelivery) {
    drop(delivery)
    if delivery.state == .pending {
      nextAttemptAt = min(nextAttemptAt ?? delivery.nextAttemptAt, delivery.nextAttemptAt)
      // The page that is being read omits it.
      if isLoading { missedDuringLoad = true }
    }
    guard let task = delivery.taskID, var lane = lanes[task] else { return }
    guard lane.first == delivery.id else {
      lanes[task]?.followers.removeAll { $0.id == delivery.id }
      return
    }
    lanes[task] = nil
    // The others do not wait for a message that a client wants again.
    if delivery.state == .pending, delivery.place != .unordered {
      // The others wait in the ledger.
      for follower in lane.followers { drop(follower) }
      note(delivery)
    } else if var next = lane.followers.popFirst() {
      next.place = .promoted
      ready.append(next)
      lanes[task] = Lane(
        first: next.id, followers: lane.followers, mayHaveStoredFollowers: lane.mayHaveStoredFollowers)
    } else if lane.mayHaveStoredFollowers {
      hasMore = true
      note(task)
    }
  }

  /// Removes a message that another service sends, and the messages that wait for it.
  mutating func release(_ delivery: WebhookDelivery) {
    drop(delivery)
    guard let task = delivery.taskID, lanes[task]?.first == delivery.id,
      let lane = lanes.removeValue(forKey: task)
    else { return }
    for follower in lane.followers { drop(follower) }
  }

  /// Leaves all messages that are not being sent in the ledger.
  mutating func releaseReady() {
    guard !ready.isEmpty else { return }
    for delivery in ready { release(delivery) }
    ready.removeAll()
    hasMore = true
    if isLoading { missedDuringLoad = true }
  }

  /// Leaves all messages in the ledger until a time.
  mutating func pause(until time: Timestamp) {
    releaseReady()
    (hasMore, nextAttemptAt, storedTasks) = (false, time, nil)
  }

  /// Notes that the time of `alarmFor` has come.
  mutating func alarmRings(at now: Timestamp) {
    alarmFor = nil
    guard let due = nextAttemptAt, due <= now else { return }
    (hasMore, nextAttemptAt) = (true, nil)
  }

  /// Reads the ledger again, because another service may have left messages there.
  mutating func reload() {
    (hasMore, storedTasks, includesFutureAttempts) = (true, nil, true)
    if isLoading { missedDuringLoad = true }
    for task in lanes.keys { lanes[task]?.mayHaveStoredFollowers = true }
  }

  private mutating func drop(_ delivery: WebhookDelivery) {
    guard held.remove(delivery.id) != nil else { return }
    heldBytes -= delivery.payload.count
  }
}
