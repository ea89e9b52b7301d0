internal import Synchronization
package import TransferModel

/// A row that neither this program nor an earlier one has written in this form. Ferry leaves it unchanged.
package struct UnreadableRow: Error, Sendable, Hashable {
  /// The tenant that may see the error.
  package enum Owner: Sendable, Hashable {
    case tenant(Tenant)
    /// The tenant of this session.
    case session(SessionID)
  }

  package let kind: RecordKind
  /// The row's id, as clients and logs name it.
  package let id: String
  /// The column, followed by the JSON pointer to the fault in its document.
  package let place: String
  package let reason: String
  /// The owner; `nil` if the row does not name one.
  package let owner: Owner?

  package init(kind: RecordKind, id: String, place: String, reason: String, owner: Owner?) {
    self.kind = kind
    self.id = id
    self.place = place
    self.reason = reason
    self.owner = owner
  }
}

extension UnreadableRow: CustomStringConvertible {
  package var description: String { "\(kind) \(id): \(place) \(reason)" }
}

/// The rows that could not be read since the start. Each is reported once.
package final class UnreadableRows: Sendable {
  private struct Name: Hashable {
    let kind: RecordKind
    let id: String
  }
  private let rows = Mutex<[Name: UnreadableRow]>([:])
  private let tell: @Sendable (UnreadableRow) -> Void

  /// - Parameter tell: called once for each row.
  package init(_ tell: @escaping @Sendable (UnreadableRow) -> Void = { _ in }) { self.tell = tell }

  package func add(_ row: UnreadableRow) {
    let isNew = rows.withLock { rows in
      rows.updateValue(row, forKey: Name(kind: row.kind, id: row.id)) == nil
    }
    if isNew { tell(row) }
  }

  /// Returns the error of a row; `nil` if no reader has found one.
  package func row(_ kind: RecordKind, _ id: some CustomStringConvertible) -> UnreadableRow? {
    rows.withLock { $0[Name(kind: kind, id: id.description)] }
  }

  /// Returns the unreadable rows of a kind.
  package func rows(of kind: RecordKind) -> [UnreadableRow] {
    rows.withLock { rows in rows.values.filter { $0.kind == kind } }
  }
}
