package import TransferModel

/// The messages of a background session that are not delivered yet. A plain value.
package struct PendingDeliveries: Sendable, Equatable {
  /// The messages that their endpoints have not accepted and that were not given up.
  package private(set) var pending: Set<DeliveryID> = []
  /// The pending message that wakes the client.
  package private(set) var wakeUp: DeliveryID?
  /// Whether something happened after the latest attempt of the wake-up message began. The client may have looked too early.
  package private(set) var hasNews = false

  package var isDone: Bool { pending.isEmpty }

  package init() {}

  /// Adds a message that is about to enter the outbox.
  package mutating func queue(_ id: DeliveryID) { pending.insert(id) }

  /// Adds a message that wakes the client.
  /// - Returns: `false` if an earlier wake-up message is still pending.
  package mutating func queue(wakeUp id: DeliveryID) -> Bool {
    guard wakeUp == nil else {
      hasNews = true
      return false
    }
    setWakeUp(id)
    return true
  }

  /// Records an attempt of a message. The client that receives it sees everything that has happened so far.
  package mutating func attempt(_ id: DeliveryID) { if wakeUp == id { hasNews = false } }

  /// Replaces a wake-up message that is about to be settled, if something happened since its latest attempt.
  /// - Returns: Whether the new message is needed.
  package mutating func replace(wakeUp old: DeliveryID, by id: DeliveryID) -> Bool {
    guard wakeUp == old, hasNews else { return false }
    setWakeUp(id)
    return true
  }

  private mutating func setWakeUp(_ id: DeliveryID) {
    wakeUp = id
    hasNews = false
    pending.insert(id)
  }

  /// Removes a message that was delivered, given up, or refused by the outbox.
  /// - Returns: Whether it was the last pending message.
  package mutating func settle(_ id: DeliveryID) -> Bool {
    if wakeUp == id { (wakeUp, hasNews) = (nil, false) }
    return pending.remove(id) != nil && pending.isEmpty
  }
}
