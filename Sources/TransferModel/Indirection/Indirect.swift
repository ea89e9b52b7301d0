/// An immutable value on the heap with several owners.
package final class SharedBox<Value: Sendable>: Sendable {
  package let value: Value
  package init(_ value: Value) { self.value = value }
}

/// A value on the heap that all copies share until one of them changes.
///
/// Most parts of a task are equal in all copies, or absent. A pointer reduces such a part to one word.
@propertyWrapper
package struct Indirect<Value: Sendable>: Sendable {
  fileprivate var box: SharedBox<Value>

  package init(wrappedValue: Value) { box = SharedBox(wrappedValue) }

  package var wrappedValue: Value {
    get { box.value }
    set { box = SharedBox(newValue) }
  }
}

extension Indirect: Equatable where Value: Equatable {
  package static func == (left: Self, right: Self) -> Bool {
    left.box === right.box || left.box.value == right.box.value
  }
}

/// An optional `Indirect` value. `nil` takes no space on the heap.
@propertyWrapper
package struct IndirectOptional<Value: Sendable>: Sendable {
  private var value: Indirect<Value>?

  package init(wrappedValue: Value?) { value = wrappedValue.map { Indirect(wrappedValue: $0) } }

  package var wrappedValue: Value? {
    get { value?.wrappedValue }
    set { value = newValue.map { Indirect(wrappedValue: $0) } }
  }
}

extension IndirectOptional: Equatable where Value: Equatable {}
