/// Why a database is not opened. Nothing was written.
package enum OpeningError: Error, Sendable, Equatable {
  /// There is no such file, or one without content, and none may be made.
  case missing
  /// A newer version has written it: these migrations are not known here.
  case newer([String])
  /// A version before the first release has written it.
  case beforeFirst
  /// Processes of an older version have it open, which could not go on beside this one.
  case older
  /// What is sealed in it cannot be opened with the keys that are given.
  case otherKey
  /// It may be read and not written.
  case readOnly
  /// Another process is in the middle of a write, and does not come to its end.
  case kept
  /// Anything else, in SQLite's words.
  case failed(String)
}
