internal import GRDB
internal import Records

/// The migrations that a program knows, and the oldest program that can share a database with it.
///
/// Programs of several versions may have a database open at once: services that share it, and a worker that outlives its service.
/// They share tables, stored documents, files, and the requests that services forward.
///
/// - A version that older programs can share with leaves `oldest` unchanged. It may add tables, indices, and columns with a default. An
///   older program that writes a row leaves new columns at their defaults.
/// - Any other change needs a migration, even if only a document's form changes. `oldest` becomes that migration's number. No program then
///   opens the database while an older one has it open, and no older program opens it afterwards.
struct Schema: Sendable {
  static let current = Schema(newest: 103, oldest: 102)

  /// The number of the newest migration that the program knows.
  let newest: Int
  /// The newest migration of the oldest program that can use the rows of this program.
  let oldest: Int
  /// Migrations of a later version, by name. Tests simulate such a version with them.
  var additions: [(name: String, sql: String)] = []

  func migrator(_ box: SecretBox) -> DatabaseMigrator {
    var migrator = Migrations.migrator(box)
    for addition in additions {
      migrator.registerMigration(addition.name) { try $0.execute(sql: addition.sql) }
    }
    return migrator
  }

  /// Checks that this version and the given keys can use the database. Nothing is written.
  /// - Parameter mustKnowAll: whether every unknown migration is refused.
  /// - Returns: the migrations that have run on the database.
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

  /// Records the oldest program that may open the database. The claim precedes the migrations, so that a crash between them lets no older
  /// program in.
  func raiseMinimumVersion(_ database: Database) throws {
    let known = try Self.oldest(of: database)
    guard known < oldest else { return }
    try database.execute(sql: "PRAGMA user_version = \(oldest)")
  }

  /// Returns whether a migration ran before the first release. Its name begins with its number.
  private static func isBeforeFirst(_ migration: String) -> Bool {
    Int(migration.prefix { $0 != " " }).map { $0 < Migrations.first } ?? false
  }

  /// Returns the recorded `oldest`; 0 if no program has claimed the database.
  private static func oldest(of database: Database) throws -> Int {
    try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
  }
}
