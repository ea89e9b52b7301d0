package import Ledger
internal import MemoryLedger
internal import Synchronization
internal import TransferModel

/// The rows that outlive a process. The ledgers of several processes may share them.
package final class SimulatedDatabase: Sendable {
  let rows: Mutex<MemoryRows>

  package init() { rows = Mutex(MemoryRows()) }
  private init(_ rows: MemoryRows) { self.rows = Mutex(rows) }

  /// Returns another database with the same rows. The copy is lazy: it costs nothing until one of the two changes.
  package func copy() -> SimulatedDatabase { SimulatedDatabase(rows.withLock { $0 }) }

  /// Makes a row unreadable, as a disk error would.
  /// - Parameter id: the id as in logs.
  package func damage(_ kind: RecordKind, _ id: some CustomStringConvertible) {
    let fault = UnreadableRow(
      kind: kind, id: id.description, place: "row", reason: "was damaged", owner: nil)
    rows.withLock { $0.damage[MemoryRows.RowName(kind: kind, id: id.description)] = fault }
  }

  /// Makes a damaged row readable again.
  package func mend(_ kind: RecordKind, _ id: some CustomStringConvertible) {
    rows.withLock { $0.damage[MemoryRows.RowName(kind: kind, id: id.description)] = nil }
  }
}
