/// Keys in order of their last use, each with a cost. Every operation takes constant time.
package struct RecencyList<Key: Hashable & Sendable>: Sendable {
  private struct Node {
    var cost: Int64
    var older: Key?
    var newer: Key?
  }
  private var nodes: [Key: Node] = [:]
  package private(set) var newest: Key?
  package private(set) var oldest: Key?
  /// The sum of the costs of all keys.
  package private(set) var cost: Int64 = 0

  package init() {}

  package var count: Int { nodes.count }
  package func contains(_ key: Key) -> Bool { nodes[key] != nil }

  /// Inserts `key` as the newest, or moves it there, with that cost.
  package mutating func insert(_ key: Key, cost: Int64) {
    remove(key)
    nodes[key] = Node(cost: cost, older: newest)
    if let newest { nodes[newest]?.newer = key }
    newest = key
    oldest = oldest ?? key
    self.cost += cost
  }

  /// Makes an existing key the newest.
  package mutating func touch(_ key: Key) {
    guard newest != key, let node = nodes[key] else { return }
    insert(key, cost: node.cost)
  }

  package mutating func remove(_ key: Key) {
    guard let node = nodes.removeValue(forKey: key) else { return }
    if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
    if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
    cost -= node.cost
  }

  /// The keys, newest first.
  package var keys: some Sequence<Key> {
    sequence(state: newest) { next in
      defer { next = next.flatMap { nodes[$0]?.older } }
      return next
    }
  }
}
