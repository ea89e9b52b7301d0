/// A place in a list of configurations.
package struct ConfigurationCursor: Sendable, Equatable {
  package let name: String
  /// The time of creation; irrelevant to the order of the names.
  package let createdAt: Timestamp

  package init(name: String, createdAt: Timestamp = Timestamp(microseconds: 0)) {
    (self.name, self.createdAt) = (name, createdAt)
  }

  /// Returns whether this place is before another one.
  package func precedes(_ other: Self, in order: ListOrder?) -> Bool {
    if let order, createdAt != other.createdAt {
      return order == .oldest ? createdAt < other.createdAt : createdAt > other.createdAt
    }
    let (first, second) = order == .newest ? (other, self) : (self, other)
    return first.name.utf8.lexicographicallyPrecedes(second.name.utf8)
  }
}
