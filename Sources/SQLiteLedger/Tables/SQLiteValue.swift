internal import TransferModel

/// A value of a statement's parameter (`sqlite3_bind`).
enum SQLiteValue {
  case null
  case integer(Int64)
  case text([UInt8])
  case string(String)
  case blob([UInt8])
  case id(high: UInt64, low: UInt64)
}

extension SQLiteValue {
  static func integer(_ number: Int) -> Self { .integer(Int64(number)) }
  static func time(_ time: Timestamp) -> Self { .integer(time.microseconds) }
  static func id<Kind>(_ id: ID<Kind>) -> Self { .id(high: id.high, low: id.low) }

  /// Returns the value, or NULL for `nil`.
  static func ifAny<T>(_ value: T?, _ make: (T) -> Self) -> Self { value.map(make) ?? .null }
}
