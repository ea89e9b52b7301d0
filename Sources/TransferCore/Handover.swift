package import TransferModel

/// Which messages of a background session have not been handed over yet. A plain value.
package struct Handover: Sendable, Equatable {
  /// Not taken by their endpoints, and not given up.
  package private(set) var pending: Set<DeliveryID> = []
  /// The one among them that wakes the client.
  package private(set) var wakeUp: DeliveryID?
  /// Something has happened since the newest attempt to deliver that began: its reader may have looked too early.
  package private(set) var hasNews = false

  package var isDone: Bool { pending.isEmpty }

  package init() {}

  /// A message is on its way to the outbox.
  package mutating func queue(_ id: DeliveryID) { pending.insert(id) }

  /// A message that wakes the client is wanted. False where one is still on its way.
  package mutating func queue(wakeUp id: DeliveryID) -> Bool {
    guard wakeUp == nil else {
      hasNews = true
      return false
    }
    setWakeUp(id)
    return true
  }

  /// A message is about to be sent: what has happened so far its reader will see.
  package mutating func attempt(_ id: DeliveryID) { if wakeUp == id { hasNews = false } }

  /// The message that wakes is about to be settled. True where another has to follow, which takes its place.
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

  /// A message was taken, given up, or did not get into the outbox. True where it was the last that was pending.
  package mutating func settle(_ id: DeliveryID) -> Bool {
    if wakeUp == id { (wakeUp, hasNews) = (nil, false) }
    return pending.remove(id) != nil && pending.isEmpty
  }
}
