/// Rows by a key that they are in order of. Most come behind all others: that costs as little as in an array.
struct SortedTable<Key: Comparable & Hashable, Row> {
  private(set) var keys: [Key] = []
  private var rows: [Key: Row] = [:]

  /// A row; to change one there are other ways.
  subscript(key: Key) -> Row? { rows[key] }

  mutating func set(_ row: Row, for key: Key) {
    guard rows.updateValue(row, forKey: key) == nil else { return }
    guard let last = keys.last, last > key else { return keys.append(key) }
    keys.insert(key, at: keys.firstIndex(notBelow: key))
  }

  /// Changes a row where there is one.
  mutating func change(_ key: Key, _ body: (inout Row) -> Void) {
    guard let index = rows.index(forKey: key) else { return }
    body(&rows.values[index])
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Row? {
    guard let row = rows.removeValue(forKey: key) else { return nil }
    keys.remove(at: keys.firstIndex(notBelow: key))
    return row
  }

  /// Takes many away at the cost of one.
  mutating func remove(_ gone: Set<Key>) {
    guard !gone.isEmpty else { return }
    for key in gone { rows[key] = nil }
    keys.removeAll { gone.contains($0) }
  }

  /// The keys behind `key`; all where it is nil.
  func keys(after key: Key?) -> ArraySlice<Key> {
    key.map { keys[keys.firstIndex(above: $0)...] } ?? keys[...]
  }

  /// The rows in their order, with their keys.
  func all(after key: Key? = nil) -> some Sequence<(key: Key, row: Row)> {
    keys(after: key).lazy.compactMap { key -> (key: Key, row: Row)? in
      rows[key].map { (key: key, row: $0) }
    }
  }
}

extension SortedTable: Sendable where Key: Sendable, Row: Sendable {}

/// Keys in order, in groups that go when they are empty.
struct SortedGroups<Group: Hashable, Key: Comparable> {
  private var groups: [Group: [Key]] = [:]

  subscript(group: Group) -> [Key] { groups[group] ?? [] }

  mutating func insert(_ key: Key, in group: Group) {
    groups[group, default: []].insertInOrder(key)
  }

  /// Takes many away at the cost of one.
  mutating func remove(from group: Group, where isGone: (Key) -> Bool) {
    guard var keys = groups.removeValue(forKey: group) else { return }
    keys.removeAll(where: isGone)
    if !keys.isEmpty { groups[group] = keys }
  }
}

extension SortedGroups: Sendable where Group: Sendable, Key: Sendable {}

extension Array where Element: Comparable {
  /// Where `element` is, or would be. The array is in order.
  func firstIndex(notBelow element: Element) -> Int { partition { $0 < element } }
  /// Behind `element`.
  func firstIndex(above element: Element) -> Int { partition { $0 <= element } }

  private func partition(_ isBefore: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  mutating func insertInOrder(_ element: Element) {
    if let last, element < last {
      insert(element, at: firstIndex(notBelow: element))
    } else {
      append(element)
    }
  }
}
