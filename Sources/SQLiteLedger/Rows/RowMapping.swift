internal import Records

/// The columns of a row, and the value that each column gets. A statement and the values bound to it come from this one list, so they
/// cannot differ in number or order.
struct RowMapping<Source>: Sendable {
  struct Column: Sendable {
    let column: StoredColumn
    let value: @Sendable (Source, SecretBox) -> SQLiteValue
    /// Whether NULL leaves the stored value unchanged.
    var isKeptWhereNull = false

    init(
      _ column: StoredColumn, isKeptWhereNull: Bool = false,
      _ value: @escaping @Sendable (Source, SecretBox) -> SQLiteValue
    ) {
      self.column = column
      self.value = value
      self.isKeptWhereNull = isKeptWhereNull
    }
  }

  let table: StoredTable
  let columns: [Column]

  init(_ table: StoredTable, _ columns: [Column]) {
    self.table = table
    self.columns = columns
  }

  /// Returns the values in the order in which `insertion` and `update` name the columns.
  func values(of source: Source, _ box: SecretBox) -> [SQLiteValue] {
    columns.map { $0.value(source, box) }
  }

  /// - Parameter rest: the SQL clause for a row that exists already.
  func insertion(orReplace: Bool = false, else rest: String = "") -> String {
    table.insert(columns.map(\.column), orReplace: orReplace, else: rest)
  }

  /// Returns the statement that updates the row whose last columns have the given values.
  /// - Parameter count: the number of columns that identify the row.
  func update(byLast count: Int = 1) -> String {
    let changes = columns.dropLast(count).map { entry in
      let name = entry.column.rawValue
      return entry.isKeptWhereNull ? "\(name) = coalesce(?, \(name))" : "\(name) = ?"
    }
    let conditions = columns.suffix(count).map { "\($0.column.rawValue) = ?" }
    return
      "UPDATE \(table) SET \(changes.joined(separator: ", ")) WHERE \(conditions.joined(separator: " AND "))"
  }
}

extension SecretBox {
  func sealed(_ content: [UInt8], _ column: SealedDocument) -> SQLiteValue {
    .blob(seal(content, as: column.kind))
  }
  func sealed(_ text: String, _ column: SealedDocument) -> SQLiteValue { sealed(Array(text.utf8), column) }
  func sealed(_ text: String) -> SQLiteValue { .string(seal(text)) }
  func sealed(_ record: some Record) -> SQLiteValue {
    sealed(String(decoding: Document.write(record), as: UTF8.self))
  }
}
