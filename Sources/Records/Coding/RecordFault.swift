internal import JSON

/// Why a document cannot be read. It tells where, and never what stands there: documents are sealed.
package struct RecordFault: Error, Equatable, Sendable, CustomStringConvertible {
  /// RFC 6901.
  package private(set) var pointer: String
  package let reason: String

  package init(pointer: String = "", _ reason: String) {
    (self.pointer, self.reason) = (pointer, reason)
  }

  package var description: String { pointer.isEmpty ? reason : "\(pointer) \(reason)" }

  /// The same fault, seen from the value that has the faulty one as a member or an element.
  func under(_ name: String) -> RecordFault {
    RecordFault(pointer: JSONPointer.appending(name, to: "") + pointer, reason)
  }
}
