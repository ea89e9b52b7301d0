internal import GRDB
internal import TransferModel

/// When the first event of a row of the journal happened: earlier versions had it in the row's text alone.
enum JournalTimes {
  private static let rowsAtOnce = 1000

  /// A row without a readable time is as old as can be.
  static func fill(_ database: Database) throws {
    let update = try database.makeStatement(sql: "UPDATE journal SET time = ? WHERE first = ?")
    var last: Int64 = -1
    while true {
      let rows = try Row.fetchAll(
        database,
        sql:
          "SELECT first, substr(stream, 1, 400) AS head FROM journal WHERE first > ? ORDER BY first LIMIT ?",
        arguments: [last, rowsAtOnce])
      guard let final = rows.last else { return }
      last = final["first"]
      for row in rows {
        guard let time = ServerSentEvents.time(of: row.bytes("head")) else { continue }
        let first: Int64 = row["first"]
        try update.execute(arguments: [time.microseconds, first])
      }
    }
  }
}
