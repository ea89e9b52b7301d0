/// A queue that one thread drains at a time. The first caller to enqueue becomes the drainer. The queue is a value, for use under a lock.
/// The drainer takes elements under the lock and processes them outside of it.
package struct SerialDrain<Element> {
  package var elements: [Element] = []
  /// Whether a drainer is active or has been asked to start.
  package private(set) var isDraining = false

  package init() {}

  /// Appends an element.
  /// - Returns: `true` if the caller must drain the queue.
  package mutating func enqueue(_ element: Element) -> Bool {
    elements.append(element)
    return beginDraining()
  }

  /// Makes the caller the drainer if there is none.
  /// - Returns: `true` if there was no drainer. The caller must then drain the queue now.
  package mutating func beginDraining() -> Bool {
    defer { isDraining = true }
    return !isDraining
  }

  /// Takes all elements for the drainer, in order.
  /// - Returns: an empty array if the queue is empty. The drain has then ended, and the next caller to enqueue drains.
  package mutating func dequeueAll() -> [Element] {
    assert(isDraining)
    if elements.isEmpty { isDraining = false }
    defer { elements = [] }
    return elements
  }

  /// Ends the drain if the queue is empty.
  /// - Returns: `true` if the drain has ended; `false` if the caller must continue.
  package mutating func endDraining() -> Bool {
    isDraining = !elements.isEmpty
    return !isDraining
  }
}

extension SerialDrain: Sendable where Element: Sendable {}
