import Ledger
import Logging

extension UnreadableRows {
  /// Returns a handler that logs each unreadable row once, as an error.
  static func logging(to logger: Logger) -> UnreadableRows {
    UnreadableRows { row in
      logger.error(
        "a stored row cannot be read; Ferry leaves it unchanged",
        metadata: [
          "table": "\(row.kind)", "id": "\(row.id)", "place": "\(row.place)", "reason": "\(row.reason)",
        ])
    }
  }
}
