/// A queue that the first to enqueue drains, and that one thread drains at a time. A value, for use under a lock: the drainer takes
/// elements under the lock and works on them outside of it.
package struct SerialDrain<Element> {
  package var elements: [Element] = []
  /// Somebody drains the queue, or is about to.
  package private(set) var isDraining = false

  package init() {}

  /// - Returns: true if the caller must drain the queue.
  package mutating func enqueue(_ element: Element) -> Bool {
    elements.append(element)
    return claim()
  }

  /// - Returns: true if nobody drains the queue: the caller must do it now.
  package mutating func claim() -> Bool {
    defer { isDraining = true }
    return !isDraining
  }

  /// Takes elements for the drainer, first come first.
  /// - Returns: nothing if the queue is empty. Then the drain has ended, and the next to enqueue drains.
  package mutating func take() -> [Element] {
    assert(isDraining)
    if elements.isEmpty { isDraining = false }
    defer { elements = [] }
    return elements
  }

  /// Ends the drain if the queue is empty.
  /// - Returns: false if there are elements left: the caller goes on.
  package mutating func end() -> Bool {
    isDraining = !elements.isEmpty
    return !isDraining
  }
}

extension SerialDrain: Sendable where Element: Sendable {}
