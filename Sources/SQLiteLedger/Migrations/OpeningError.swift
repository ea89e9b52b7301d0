/// The reason why a database is not opened. Nothing was written.
package enum OpeningError: Error, Sendable, Equatable {
  /// The file is missing or empty, and may not be created.
  case missing
  /// A newer version has written the database. The migrations are unknown here.
  case newer([String])
  /// A version before the first release has written the database.
  case beforeFirst
  /// Processes of an older version have the database open, and could not use it together with this version.
  case older
  /// The given keys do not open the sealed contents.
  case otherKey
  /// The database is read-only.
  case readOnly
  /// Another process holds the write lock and does not release it.
  case lockedByOther
  /// Another error, with SQLite's message.
  case failed(String)
}
