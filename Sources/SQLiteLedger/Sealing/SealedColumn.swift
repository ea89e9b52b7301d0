internal import FoundationEssentials
internal import GRDB

/// A column with sealed content. No other process may write to the database meanwhile.
struct SealedColumn {
  /// The number of rows that are in memory at once. A row may be as large as the largest request body.
  private static let rowsAtOnce = 200

  private let place: ColumnReference
  private let database: Database

  init(_ place: ColumnReference, in database: Database) {
    self.place = place
    self.database = database
  }

  /// Replaces the values of the column.
  /// - Parameter change: returns the new value; `nil` to keep the old one.
  /// - Returns: the number of replaced values.
  func rewrite(_ change: (DatabaseValue) throws -> DatabaseValue?) throws -> Int {
    let (table, column, key) = (place.table, place.column.rawValue, place.table.key)
    let names = key.map(\.rawValue).joined(separator: ", ")
    let marks = key.map { _ in "?" }.joined(separator: ", ")
    let update = try database.makeStatement(
      sql: "UPDATE \(table) SET \(column) = ? WHERE (\(names)) = (\(marks))")
    var (count, last) = (0, [DatabaseValue]?.none)
    while true {
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT \(column), \(names) FROM \(table)
          WHERE \(column) IS NOT NULL\(last == nil ? "" : " AND (\(names)) > (\(marks))")
          ORDER BY \(names) LIMIT \(Self.rowsAtOnce)
          """, arguments: StatementArguments(last ?? []))
      guard let final = rows.last else { return count }
      last = Array(final.databaseValues.dropFirst())
      for row in rows {
        let values = Array(row.databaseValues)
        guard let sealed = try change(values[0]) else { continue }
        try update.execute(arguments: StatementArguments([sealed] + values.dropFirst()))
        count += 1
      }
    }
  }
}
