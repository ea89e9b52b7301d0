internal import GRDB
internal import Records

/// Which migrations a program knows, and which older programs can use a database beside it.
///
/// Programs of several versions may have a database open at once: services that share it, and a worker that outlives its service. What
/// they share is one thing: tables, stored documents, files, and the requests that services hand on. A version that older ones can live with
/// leaves `oldest` as it is. It may add tables, indices, and columns that have a default; whoever writes a row by an older version leaves
/// those at that. Any other change, be it one of a document's form alone, comes with a migration, and `oldest` is that migration's number:
/// then no program opens the database while one that is older has it open, and no older one opens it afterwards.
struct Schema: Sendable {
  static let current = Schema(newest: 100, oldest: 100)

  /// The number of the newest migration that the program knows.
  let newest: Int
  /// The newest migration of the oldest program that can use what this one has written.
  let oldest: Int
  /// Migrations behind those of this program, by name, as a later version has them.
  var additions: [(name: String, sql: String)] = []

  func migrator(_ box: SecretBox) -> DatabaseMigrator {
    var migrator = Migrations.migrator(box)
    for addition in additions {
      migrator.registerMigration(addition.name) { try $0.execute(sql: addition.sql) }
    }
    return migrator
  }

  /// Throws where another version has written the database that this one cannot live with, or one with other keys; nothing is written.
  /// - Parameter mustKnowAll: whether a newer version's is refused in any case.
  /// - Returns: what has run on it.
  func verify(_ database: Database, _ box: SecretBox, mustKnowAll: Bool) throws -> Set<String> {
    let migrator = migrator(box)
    let applied = try migrator.appliedIdentifiers(database)
    let unknown = applied.subtracting(migrator.migrations)
    guard !unknown.contains(where: Self.isBeforeFirst) else { throw OpeningError.beforeFirst }
    let oldest = try Self.oldest(of: database)
    guard unknown.isEmpty || !mustKnowAll && oldest > 0 && oldest <= newest else {
      throw OpeningError.newer(unknown.sorted())
    }
    try KeyCheck.verify(database, box)
    return applied
  }

  /// Who may open the database from here on. Written before the migrations that it is about: whatever comes between, nobody opens what it
  /// cannot use.
  func claim(_ database: Database) throws {
    let known = try Self.oldest(of: database)
    guard known < oldest else { return }
    try database.execute(sql: "PRAGMA user_version = \(oldest)")
  }

  /// Whether a migration ran before the first release. Its name begins with its number.
  private static func isBeforeFirst(_ migration: String) -> Bool {
    Int(migration.prefix { $0 != " " }).map { $0 < Migrations.first } ?? false
  }

  /// 0: nobody has said so yet.
  private static func oldest(of database: Database) throws -> Int {
    try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
  }
}
