internal import JSON

/// The reason why a document cannot be read. It names the place and never the content, because documents are sealed.
package struct RecordFault: Error, Equatable, Sendable, CustomStringConvertible {
  /// A JSON pointer (RFC 6901).
  package private(set) var pointer: String
  package let reason: String

  package init(pointer: String = "", _ reason: String) {
    (self.pointer, self.reason) = (pointer, reason)
  }

  package var description: String { pointer.isEmpty ? reason : "\(pointer) \(reason)" }

  /// Returns the same fault with `name`, a member or an index of the enclosing value, before its pointer.
  func under(_ name: String) -> RecordFault {
    RecordFault(pointer: JSONPointer.appending(name, to: "") + pointer, reason)
  }
}
