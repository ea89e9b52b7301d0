/// A text that is compared by its bytes, as ledgers compare it.
///
/// Swift regards canonically equivalent texts as equal, such as a letter with an accent as one scalar or as two. A key in memory must not
/// join two rows that the ledger keeps apart.
@propertyWrapper
package struct ExactText: Sendable, Hashable {
  package var wrappedValue: String

  package init(wrappedValue: String) { self.wrappedValue = wrappedValue }

  package static func == (left: Self, right: Self) -> Bool {
    left.wrappedValue.utf8.elementsEqual(right.wrappedValue.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    var text = wrappedValue
    text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(UInt8(0xFF))
  }
}

extension String {
  /// Returns whether this text precedes another one in the order of their bytes.
  package func precedesInBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
