internal import FoundationEssentials
internal import GRDB
internal import JSON
internal import TransferModel

/// Seals the documents that earlier versions stored in clear, each in its place, and seals all of them anew under another key.
struct SealedDocuments {
  let database: Database
  /// Rows that are in memory at a time: a row may be as large as the largest body of a request.
  private static let rowsAtOnce = 200

  /// What is no document is left as it is, and found when it is read.
  func sealAll(with box: SecretBox) throws {
    for kind in DocumentKind.allCases {
      // Rows had no tenant then.
      _ = try rewrite(kind, by: kind.key.filter { $0 != "tenant" }) { value in
        switch value.storage {
        case .string(let text):
          let bytes = Array(text.utf8)
          guard !kind.hasVersion || (try? JSONParser.parse(bytes)) != nil else { return nil }
          return box.seal(bytes, as: kind)
        // Some were blobs before.
        case .blob(let data): return box.seal(Array(data), as: kind)
        default: return nil
        }
      }
    }
  }

  /// - Parameter box: seals with its first key, and opens with all.
  /// - Returns: how many there were.
  func resealAll(with box: SecretBox) throws -> Int {
    try DocumentKind.allCases.reduce(0) { count, kind in
      try count
        + rewrite(kind, by: kind.key) { value in
          guard case .blob(let data) = value.storage else { return nil }
          do throws(SecretBox.Fault) {
            let document = try box.open(Array(data), as: kind)
            return box.seal(Self.resealed(document, kind, box) ?? document, as: kind)
          } catch .unknownKey {
            throw SecretRotation.UnknownKey(table: kind.table)
          } catch {
            // It was damaged, and is no worse under the old key.
            return nil
          }
        }
    }
  }

  /// A document of version 1 has secrets in it that are sealed one by one.
  private static func resealed(_ document: [UInt8], _ kind: DocumentKind, _ box: SecretBox) -> [UInt8]? {
    guard kind.hasVersion, (try? JSONParser.parse(document))?["\(DocumentVersion.member)"] == nil else {
      return nil
    }
    return box.reseal(document: document)
  }

  /// - Parameters:
  ///   - key: the columns that name a row.
  ///   - change: returns what is to stand there instead, or nil.
  private func rewrite(
    _ kind: DocumentKind, by key: [String], _ change: (DatabaseValue) throws -> [UInt8]?
  ) throws -> Int {
    let (table, column) = (kind.table, kind.column)
    let (names, marks) = (key.joined(separator: ", "), key.map { _ in "?" }.joined(separator: ", "))
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
        try update.execute(arguments: StatementArguments([Data(sealed).databaseValue] + values.dropFirst()))
        count += 1
      }
    }
  }
}
