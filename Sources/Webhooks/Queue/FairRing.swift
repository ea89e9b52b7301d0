internal import DequeModule

/// Elements in groups, which are served in turn: one element of each group at a time.
struct FairRing<Group: Hashable & Sendable, Element: Sendable>: Sendable {
  private var groups = Deque<Group>()
  private var members: [Group: Deque<Element>] = [:]

  var isEmpty: Bool { groups.isEmpty }
  var groupCount: Int { groups.count }

  mutating func append(_ element: Element, of group: Group) {
    if members[group] == nil { groups.append(group) }
    members[group, default: []].append(element)
  }

  mutating func popFirst() -> Element? {
    guard let group = groups.popFirst(), let element = members[group]?.popFirst() else { return nil }
    if members[group]?.isEmpty == true { members[group] = nil } else { groups.append(group) }
    return element
  }
}
