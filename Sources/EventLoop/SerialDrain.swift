/// A queue that one thread drains at a time: the first caller to enqueue becomes the drainer. A value, for use under a lock. The drainer
/// takes elements under the lock and works on them outside of it.
package struct SerialDrain<Element> {
  package var elements: [Element] = []
  /// A drainer is active or has been asked to start.
  package private(set) var isDraining = false

  package init() {}

  /// - Returns: true if the caller must drain the queue.
  package mutating func enqueue(_ element: Element) -> Bool {
    elements.append(element)
    return claim()
  }

  /// - Returns: true if there is no drainer yet. Then the caller must drain the queue now.
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
  /// - Returns: true if the drain has ended; false if the caller must continue.
  package mutating func end() -> Bool {
    isDraining = !elements.isEmpty
    return !isDraining
  }
}

extension SerialDrain: Sendable where Element: Sendable {}
