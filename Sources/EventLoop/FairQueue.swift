internal import DequeModule

/// Items that wait, in a queue for each key. The queues take turns, so that a key with many items delays another by one of them.
struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
  /// None is empty.
  private var queues: [Key: Deque<Item>] = [:]
  /// The keys that have items, the next one first.
  private var turns: Deque<Key> = []

  mutating func append(_ item: Item, of key: Key) {
    if queues[key] == nil { turns.append(key) }
    queues[key, default: []].append(item)
  }

  /// nil: nothing waits.
  mutating func next() -> Item? {
    guard let key = turns.popFirst() else { return nil }
    let item = queues[key]?.popFirst()
    if queues[key]?.isEmpty ?? true { queues[key] = nil } else { turns.append(key) }
    return item
  }
}
