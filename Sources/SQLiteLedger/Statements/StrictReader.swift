internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

/// A strict reader of one kind of record. An unreadable record is reported and omitted from lists, and does not affect other records.
struct StrictReader: Sendable {
  let kind: RecordKind
  let box: SecretBox
  let unreadable: UnreadableRows

  /// Returns the row that the arguments name.
  /// - Throws: the row's error if the row cannot be read.
  func one<Value>(
    _ database: Database, _ query: Query, _ arguments: StatementArguments,
    _ read: (StoredRow) throws(UnreadableRow) -> Value
  ) throws -> Value? {
    let statement = try database.prepared(query)
    guard let row = try Row.fetchOne(statement, arguments: arguments) else { return nil }
    let stored = StoredRow(row: row, kind: kind, box: box, columns: query.columns(of: statement))
    do throws(UnreadableRow) { return try read(stored) } catch {
      unreadable.add(error)
      throw error
    }
  }

  /// Returns the first `limit` readable rows.
  func all<Value>(
    _ database: Database, _ query: Query, _ arguments: StatementArguments = [], limit: Int = .max,
    _ read: (StoredRow) throws(UnreadableRow) -> Value
  ) throws -> [Value] {
    let statement = try database.prepared(query)
    let columns = query.columns(of: statement)
    let rows = try Row.fetchCursor(statement, arguments: arguments)
    var values: [Value] = []
    while values.count < limit, let row = try rows.next() {
      let stored = StoredRow(row: row, kind: kind, box: box, columns: columns)
      do throws(UnreadableRow) { values.append(try read(stored)) } catch { unreadable.add(error) }
    }
    return values
  }
}
