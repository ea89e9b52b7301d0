/// Sorted keys in groups. Empty groups are removed.
package struct SortedGroups<Group: Hashable & Sendable, Key: Comparable & Sendable>: Sendable {
  /// The estimated size of a group in bytes: two arrays and an entry of the dictionary.
  private static var groupSize: Int { 160 }

  private var groups: [Group: SortedKeys<Key>] = [:]
  private var keysSize = 0
  var memorySize: Int { keysSize + groups.count * Self.groupSize }

  package init() {}

  package subscript(group: Group) -> SortedKeys<Key> { groups[group] ?? SortedKeys() }

  package mutating func insert(_ key: Key, in group: Group) {
    change(group) { $0.insert(key) }
  }

  package mutating func remove(_ key: Key, from group: Group) {
    guard groups[group] != nil else { return }
    change(group) { $0.remove(key) }
    if groups[group]?.isEmpty == true { groups[group] = nil }
  }

  private mutating func change(_ group: Group, _ body: (inout SortedKeys<Key>) -> Void) {
    func grow(_ keys: inout SortedKeys<Key>) -> Int {
      let before = keys.memorySize
      body(&keys)
      return keys.memorySize - before
    }
    keysSize += grow(&groups[group, default: SortedKeys()])
  }
}
