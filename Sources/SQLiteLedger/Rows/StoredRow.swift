internal import FoundationEssentials
internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

extension StoredTable {
  /// Returns the name of a row in a message or a log: the values of its key columns.
  func name(of row: Row) -> String { key.map { name($0, of: row) }.joined(separator: " ") }

  private func name(_ column: StoredColumn, of row: Row) -> String {
    switch (self, column) {
    case (.session, .id), (_, .session): Self.name(SessionID.self, row.optionalBytes(column))
    case (.task, .id), (_, .task): Self.name(TaskID.self, row.optionalBytes(column))
    case (.decision, .id): Self.name(DecisionID.self, row.optionalBytes(column))
    case (.delivery, .id): Self.name(DeliveryID.self, row.optionalBytes(column))
    case (.endpoint, .id): Self.name(EndpointID.self, row.optionalBytes(column))
    case (.file, .id): Self.name(FileID.self, row.optionalBytes(column))
    case (_, .first), (_, .number), (_, .only):
      (row[column.rawValue] as DatabaseValue?).map { "\($0)" } ?? "?"
    // A keyed hash. The text that it stands for could be secret.
    case (_, .key), (_, .space): Hexadecimal.text(row.bytes(column))
    default: Self.text(row, column)
    }
  }

  private static func text(_ row: Row, _ column: StoredColumn) -> String {
    String(decoding: row.bytes(column), as: UTF8.self)
  }

  private static func name<Kind>(_ type: ID<Kind>.Type, _ bytes: [UInt8]?) -> String {
    let bytes = bytes ?? []
    return ID<Kind>(bytes: bytes)?.description ?? Hexadecimal.text(bytes)
  }
}

/// One row, read column by column. A value of another type, or a document in another form, throws a fault that names the row and the
/// place. No fault is replaced by a default.
struct StoredRow {
  let row: Row
  let kind: RecordKind
  let box: SecretBox
  /// The row's columns in order; `nil` if they are looked up by name.
  var columns: [StoredColumn?]?

  /// - Parameter pointer: the JSON pointer to the fault in the column's document.
  func fault(_ column: StoredColumn, _ reason: String, at pointer: String = "") -> UnreadableRow {
    UnreadableRow(
      kind: kind, id: StoredTable(kind).name(of: row), place: column.rawValue + pointer, reason: reason,
      owner: owner)
  }

  // MARK: Plain columns

  private func storage(_ column: StoredColumn) throws(UnreadableRow) -> DatabaseValue.Storage {
    let value: DatabaseValue? =
      if let columns { columns.firstIndex(of: column).map { place in row[place] } } else {
        row[column.rawValue]
      }
    guard let value else { throw fault(column, "is not a column") }
    return value.storage
  }

  func has(_ column: StoredColumn) throws(UnreadableRow) -> Bool {
    if case .null = try storage(column) { false } else { true }
  }
  func integerIfAny(_ column: StoredColumn) throws(UnreadableRow) -> Int64? {
    switch try storage(column) {
    case .null: return nil
    case .int64(let number): return number
    default: throw fault(column, "must be an integer")
    }
  }
  func integer(_ column: StoredColumn) throws(UnreadableRow) -> Int64 {
    guard let number = try integerIfAny(column) else { throw fault(column, "is missing") }
    return number
  }
  func time(_ column: StoredColumn) throws(UnreadableRow) -> Timestamp {
    Timestamp(microseconds: try integer(column))
  }
  func stringIfAny(_ column: StoredColumn) throws(UnreadableRow) -> String? {
    switch try storage(column) {
    case .null: return nil
    case .string(let text): return text
    default: throw fault(column, "must be text")
    }
  }
  func string(_ column: StoredColumn) throws(UnreadableRow) -> String {
    guard let text = try stringIfAny(column) else { throw fault(column, "is missing") }
    return text
  }
  func blobIfAny(_ column: StoredColumn) throws(UnreadableRow) -> [UInt8]? {
    switch try storage(column) {
    case .null: return nil
    case .blob(let data): return Array(data)
    default: throw fault(column, "must be a blob")
    }
  }
  func idIfAny<Kind>(
    _ column: StoredColumn, of type: ID<Kind>.Type = ID<Kind>.self
  ) throws(UnreadableRow) -> ID<Kind>? {
    guard let bytes = try blobIfAny(column) else { return nil }
    guard let id = ID<Kind>(bytes: bytes) else { throw fault(column, "is not an id") }
    return id
  }
  func id<Kind>(_ column: StoredColumn, of type: ID<Kind>.Type = ID<Kind>.self) throws(UnreadableRow) -> ID<
    Kind
  > {
    guard let id = try idIfAny(column, of: type) else { throw fault(column, "is missing") }
    return id
  }
  func choice<Choice: RawRepresentable>(_ column: StoredColumn) throws(UnreadableRow) -> Choice
  where Choice.RawValue == String {
    let text = try string(column)
    guard let choice = Choice(rawValue: text) else { throw fault(column, "is '\(text)', which is not known") }
    return choice
  }

  func tenantIfAny() throws(UnreadableRow) -> Tenant? {
    try stringIfAny(.tenant).map { Tenant(name: $0) }
  }
  func tenant() throws(UnreadableRow) -> Tenant { Tenant(name: try string(.tenant)) }

  /// The row's owner; `nil` if the row does not name one.
  private var owner: UnreadableRow.Owner? {
    if let name = row.optionalBytes(.tenant) {
      return .tenant(Tenant(name: String(decoding: name, as: UTF8.self)))
    }
    return row.optionalBytes(.session).flatMap { SessionID(bytes: $0) }.map { .session($0) }
  }

  // MARK: Sealed columns

  /// Returns a secret that is sealed alone, as text.
  func secretIfAny(_ secret: SealedText) throws(UnreadableRow) -> String? {
    let column = secret.place.column
    guard let text = try stringIfAny(column) else { return nil }
    guard let opened = box.open(text) else {
      throw fault(column, "is sealed under another key, or was changed")
    }
    return opened
  }
  func secret(_ secret: SealedText) throws(UnreadableRow) -> String {
    guard let text = try secretIfAny(secret) else { throw fault(secret.place.column, "is missing") }
    return text
  }

  /// Returns the content of a sealed column.
  func contentIfAny(_ sealed: SealedDocument) throws(UnreadableRow) -> [UInt8]? {
    switch try storage(sealed.column) {
    case .null: return nil
    case .blob(let data):
      do throws(SecretBox.Fault) { return try box.open(Array(data), as: sealed.kind) } catch {
        throw fault(sealed.column, error.description)
      }
    default: throw fault(sealed.column, "must be a blob")
    }
  }
  func content(_ sealed: SealedDocument) throws(UnreadableRow) -> [UInt8] {
    guard let bytes = try contentIfAny(sealed) else { throw fault(sealed.column, "is missing") }
    return bytes
  }

  /// Returns a sealed text.
  func textIfAny(_ sealed: SealedDocument) throws(UnreadableRow) -> String? {
    guard let bytes = try contentIfAny(sealed) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
  func text(_ sealed: SealedDocument) throws(UnreadableRow) -> String {
    guard let text = try textIfAny(sealed) else { throw fault(sealed.column, "is missing") }
    return text
  }

  func document<T>(
    _ sealed: SealedDocument, _ read: ([UInt8]) throws(RecordFault) -> T
  ) throws(UnreadableRow) -> T {
    guard let read = try documentIfAny(sealed, read) else { throw fault(sealed.column, "is missing") }
    return read
  }

  func documentIfAny<T>(
    _ sealed: SealedDocument, _ read: ([UInt8]) throws(RecordFault) -> T
  ) throws(UnreadableRow) -> T? {
    guard let bytes = try contentIfAny(sealed) else { return nil }
    return try document(bytes, in: sealed.column, read)
  }

  /// Reads a document that is sealed as a secret.
  func document<T>(
    _ secret: SealedText, _ read: ([UInt8]) throws(RecordFault) -> T
  ) throws(UnreadableRow) -> T {
    try document(Array(try self.secret(secret).utf8), in: secret.place.column, read)
  }

  private func document<T>(
    _ bytes: [UInt8], in column: StoredColumn, _ read: ([UInt8]) throws(RecordFault) -> T
  ) throws(UnreadableRow) -> T {
    do throws(RecordFault) { return try read(bytes) } catch {
      throw fault(column, error.reason, at: error.pointer)
    }
  }
}

extension Row {
  subscript<Value: DatabaseValueConvertible>(column: StoredColumn) -> Value { self[column.rawValue] }

  func bytes(_ column: StoredColumn) -> [UInt8] { bytes(column.rawValue) }
  func optionalBytes(_ column: StoredColumn) -> [UInt8]? { optionalBytes(column.rawValue) }

  /// Returns the bytes of a text or blob column; empty for NULL.
  func bytes(_ column: String) -> [UInt8] { optionalBytes(column) ?? [] }

  /// Returns the bytes of a text or blob column; `nil` for NULL.
  func optionalBytes(_ column: String) -> [UInt8]? {
    (try? withUnsafeData(named: column) { data in data.map { Array($0) } }) ?? nil
  }
}
