/// A value that never changes, and that many have.
package final class Shared<Value: Sendable>: Sendable {
  package let value: Value
  package init(_ value: Value) { self.value = value }
}

/// A value that stands elsewhere on the heap, shared by all copies until one of them is changed.
///
/// Most parts of a task are the same in all its copies, or not there yet: behind a pointer they cost a word.
@propertyWrapper
package struct Indirect<Value: Sendable>: Sendable {
  fileprivate var box: Shared<Value>

  package init(wrappedValue: Value) { box = Shared(wrappedValue) }

  package var wrappedValue: Value {
    get { box.value }
    set { box = Shared(newValue) }
  }
}

extension Indirect: Equatable where Value: Equatable {
  package static func == (left: Self, right: Self) -> Bool {
    left.box === right.box || left.box.value == right.box.value
  }
}

/// As `Indirect`, for what may not be there: nothing is nothing on the heap, too.
@propertyWrapper
package struct IndirectIfAny<Value: Sendable>: Sendable {
  private var value: Indirect<Value>?

  package init(wrappedValue: Value?) { value = wrappedValue.map { Indirect(wrappedValue: $0) } }

  package var wrappedValue: Value? {
    get { value?.wrappedValue }
    set { value = newValue.map { Indirect(wrappedValue: $0) } }
  }
}

extension IndirectIfAny: Equatable where Value: Equatable {}
