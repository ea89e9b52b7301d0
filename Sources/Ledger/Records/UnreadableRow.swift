internal import Synchronization
package import TransferModel

/// A row that is not as this program, or one before it, wrote it. It is left as it is.
package struct UnreadableRow: Error, Sendable, Hashable {
  /// Who may hear of it.
  package enum Owner: Sendable, Hashable {
    case tenant(Tenant)
    /// The tenant of that session.
    case session(SessionID)
  }

  package let kind: RecordKind
  /// Which of that kind, as clients and logs name it.
  package let id: String
  /// The column, and behind it the JSON pointer to what is wrong in its document.
  package let place: String
  package let reason: String
  /// nil where the row does not say whose it is.
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

/// The rows that could not be read since the start. Each is told of once.
package final class UnreadableRows: Sendable {
  private struct Name: Hashable {
    let kind: RecordKind
    let id: String
  }
  private let rows = Mutex<[Name: UnreadableRow]>([:])
  private let tell: @Sendable (UnreadableRow) -> Void

  /// - Parameter tell: hears of each of them once.
  package init(_ tell: @escaping @Sendable (UnreadableRow) -> Void = { _ in }) { self.tell = tell }

  package func add(_ row: UnreadableRow) {
    let isNew = rows.withLock { rows in
      rows.updateValue(row, forKey: Name(kind: row.kind, id: row.id)) == nil
    }
    if isNew { tell(row) }
  }

  /// Why that row cannot be read; nil where nobody has found that out.
  package func row(_ kind: RecordKind, _ id: some CustomStringConvertible) -> UnreadableRow? {
    rows.withLock { $0[Name(kind: kind, id: id.description)] }
  }

  /// Those of a kind.
  package func rows(of kind: RecordKind) -> [UnreadableRow] {
    rows.withLock { rows in rows.values.filter { $0.kind == kind } }
  }
}
