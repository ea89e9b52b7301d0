package import Ledger
internal import MemoryLedger
internal import Synchronization
internal import TransferModel

/// What stays when a process goes: the rows that its store, and those of others that share them, find again.
package final class SimulatedDatabase: Sendable {
  let rows: Mutex<MemoryRows>

  package init() { rows = Mutex(MemoryRows()) }
  private init(_ rows: MemoryRows) { self.rows = Mutex(rows) }

  /// Another database with the same rows, which go their own way from here on. It costs nothing until one of the two is changed,
  /// and then as much as there are rows.
  package func copy() -> SimulatedDatabase { SimulatedDatabase(rows.withLock { $0 }) }

  /// From here on that row cannot be read, as though a disk had changed it.
  /// - Parameter id: as logs name it.
  package func damage(_ kind: RecordKind, _ id: some CustomStringConvertible) {
    let fault = UnreadableRow(
      kind: kind, id: id.description, place: "row", reason: "was damaged", owner: nil)
    rows.withLock { $0.damage[MemoryRows.RowName(kind: kind, id: id.description)] = fault }
  }

  /// Whoever mends a row can read it again.
  package func mend(_ kind: RecordKind, _ id: some CustomStringConvertible) {
    rows.withLock { $0.damage[MemoryRows.RowName(kind: kind, id: id.description)] = nil }
  }
}
