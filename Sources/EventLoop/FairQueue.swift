internal import DequeModule

/// A round-robin queue with one FIFO queue per key. Between two items of one key, every other key in the queue gets a turn.
struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
  /// The queues by key. None is empty.
  private var queues: [Key: Deque<Item>] = [:]
  /// The keys that have items, the next one first.
  private var waitingKeys: Deque<Key> = []

  mutating func append(_ item: Item, for key: Key) {
    if queues[key] == nil { waitingKeys.append(key) }
    queues[key, default: []].append(item)
  }

  /// Removes and returns the next item; `nil` if there is none.
  mutating func next() -> Item? {
    guard let key = waitingKeys.popFirst() else { return nil }
    let item = queues[key]?.popFirst()
    if queues[key]?.isEmpty ?? true { queues[key] = nil } else { waitingKeys.append(key) }
    return item
  }
}
