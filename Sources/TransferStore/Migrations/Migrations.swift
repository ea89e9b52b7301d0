internal import FoundationEssentials
internal import GRDB
internal import TransferModel

/// The database's shape. Migrations are only ever appended: what ran once on a user's disk stays as it was. `Schema` says which of them older
/// versions can live with.
enum Migrations {
  /// - Parameter box: seals the secrets that were stored in clear.
  static func migrator(_ box: SecretBox) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 sessions, tasks, journal, outbox") { database in
      try database.execute(sql: first)
    }
    migrator.registerMigration("2 decisions, files") { database in
      try database.execute(sql: second)
    }
    migrator.registerMigration("3 credentials") { database in
      try database.execute(sql: third)
    }
    migrator.registerMigration("4 secrets sealed") { database in
      try PlaintextSecrets(database: database, box: box).remove()
    }
    migrator.registerMigration("5 cookies, named configurations, what memory has numbered") { database in
      try database.execute(sql: fifth)
    }
    migrator.registerMigration("6 retention") { database in
      try database.execute(sql: sixth)
    }
    migrator.registerMigration("7 work of the background worker") { database in
      try database.execute(sql: seventh)
    }
    migrator.registerMigration("8 a message's last attempt") { database in
      try database.execute(sql: eighth)
    }
    migrator.registerMigration("9 documents sealed") { database in
      try database.execute(sql: ninth)
      try JournalTimes.fill(database)
      try SealedDocuments(database: database).sealFirst(with: box)
      try Overwritten.mark(database)
    }
    migrator.registerMigration("10 key check") { database in
      try database.execute(sql: KeyCheck.table)
      try KeyCheck.write(database, box)
    }
    migrator.registerMigration("11 a decision's question") { database in
      try database.execute(sql: "ALTER TABLE decision ADD COLUMN question INTEGER")
    }
    migrator.registerMigration("12 messages by session") { database in
      try database.execute(sql: twelfth)
    }
    migrator.registerMigration("13 tenants") { database in
      try database.execute(sql: thirteenth)
      try SessionTenants.fill(database, box)
    }
    migrator.registerMigration("14 the owner's epoch") { database in
      try database.execute(sql: fourteenth)
    }
    migrator.registerMigration("15 processes and shards") { database in
      try database.execute(sql: fifteenth)
      for shard in Shard.all {
        try database.execute(
          sql: "INSERT INTO shard (byte, epoch) VALUES (?, 0)", arguments: [Data([shard.number])])
      }
    }
    migrator.registerMigration("16 processes that retire") { database in
      try database.execute(sql: sixteenth)
    }
    migrator.registerMigration("17 documents compressed, tasks by state") { database in
      try database.execute(sql: seventeenth)
    }
    migrator.registerMigration("18 the worker's epoch") { database in
      try database.execute(sql: eighteenth)
    }
    // Nothing is written anew: each document says with which dictionary it was compressed.
    migrator.registerMigration("19 documents compressed with the second dictionary") { _ in }
    // The documents of tasks get a member, which older versions refuse.
    migrator.registerMigration("20 reasons and times of retries") { _ in }
    migrator.registerMigration("21 small bodies, URLs and names sealed") { database in
      try database.execute(sql: twentyFirst)
      for kind in [DocumentKind.smallBody, .deliveryURL, .deliveryError, .fileType, .replyLocation] {
        try SealedDocuments(database: database).seal(kind, with: box)
      }
      try RowNaming(database: database, box: KeyCheck.naming(database, box)).hideTexts()
      try Overwritten.mark(database)
    }
    // A message to the webhook of its session's delegate has an empty URL. Older versions would send to that URL.
    migrator.registerMigration("22 messages without their session's webhook") { _ in }
    return migrator
  }

  // A row is found by a keyed hash, and has the name sealed.
  private static let twentyFirst = """
    ALTER TABLE configuration RENAME COLUMN name TO key;
    ALTER TABLE configuration ADD COLUMN name BLOB;
    ALTER TABLE idempotency ADD COLUMN name BLOB;
    """

  private static let eighteenth = """
    CREATE TABLE worker (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      epoch INTEGER NOT NULL
    );
    """

  // Those that have not ended are few, or many that wait: each kind is found without reading the other.
  private static let seventeenth = """
    DROP INDEX task_by_session;
    DROP INDEX task_unfinished;
    CREATE INDEX task_unfinished ON task (session, id, state, kind) WHERE state <> 'completed';
    CREATE INDEX task_finished ON task (session, id, kind) WHERE state = 'completed';
    """

  private static let sixteenth = "ALTER TABLE process ADD COLUMN retiring INTEGER NOT NULL DEFAULT 0;"

  // A shard is known by the last byte of its sessions' ids.
  private static let fifteenth = """
    CREATE TABLE process (
      epoch INTEGER PRIMARY KEY,
      address TEXT NOT NULL
    );
    CREATE TABLE shard (
      byte BLOB PRIMARY KEY NOT NULL,
      epoch INTEGER NOT NULL
    ) WITHOUT ROWID;
    """

  private static let fourteenth = """
    CREATE TABLE owner (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      epoch INTEGER NOT NULL
    );
    """

  // A session says in its document whose it is; everything else was everybody's, and is `default`'s.
  private static let thirteenth = """
    ALTER TABLE session ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
    ALTER TABLE journal ADD COLUMN tenant TEXT DEFAULT 'default';
    ALTER TABLE file ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
    CREATE INDEX file_by_tenant ON file (tenant, id);
    CREATE TABLE configuration_by_tenant (
      tenant TEXT NOT NULL,
      name TEXT NOT NULL,
      document TEXT NOT NULL,
      created INTEGER NOT NULL,
      updated INTEGER NOT NULL,
      PRIMARY KEY (tenant, name)
    ) WITHOUT ROWID;
    INSERT INTO configuration_by_tenant SELECT 'default', name, document, created, updated FROM configuration;
    DROP TABLE configuration;
    ALTER TABLE configuration_by_tenant RENAME TO configuration;
    CREATE TABLE idempotency_by_tenant (
      tenant TEXT NOT NULL,
      key TEXT NOT NULL,
      fingerprint BLOB NOT NULL,
      status INTEGER NOT NULL,
      content_type TEXT NOT NULL,
      location TEXT,
      body BLOB NOT NULL,
      created INTEGER NOT NULL,
      session BLOB,
      PRIMARY KEY (tenant, key)
    );
    INSERT INTO idempotency_by_tenant
      SELECT 'default', key, fingerprint, status, content_type, location, body, created, session FROM idempotency;
    DROP TABLE idempotency;
    ALTER TABLE idempotency_by_tenant RENAME TO idempotency;
    CREATE INDEX idempotency_by_age ON idempotency (created);
    CREATE TABLE journal_pruning_by_tenant (
      tenant TEXT PRIMARY KEY NOT NULL,
      through INTEGER NOT NULL
    ) WITHOUT ROWID;
    """

  // A session that is deleted goes in slices: each must find its messages without reading all others'.
  private static let twelfth = """
    CREATE INDEX delivery_by_session ON delivery (session);
    """

  // What SQL looks for cannot be in a document that is sealed.
  private static let ninth = """
    ALTER TABLE session ADD COLUMN type TEXT NOT NULL DEFAULT 'default';
    UPDATE session SET type = coalesce(json_extract(document, '$.type'), 'default') WHERE json_valid(document);
    ALTER TABLE task ADD COLUMN is_pruned INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE journal ADD COLUMN time INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE idempotency ADD COLUMN session BLOB;
    """

  // What a download of an earlier version can go on from is kept for as long as a body is by default.
  private static let sixth = """
    ALTER TABLE task ADD COLUMN completed INTEGER;
    ALTER TABLE task ADD COLUMN kept_until INTEGER;
    ALTER TABLE task ADD COLUMN kept_bytes INTEGER;
    UPDATE task SET
      completed = coalesce(nullif(json_extract(CAST(outcome AS TEXT), '$.completedAt'), 0), created),
      kept_until = coalesce(
        json_extract(CAST(outcome AS TEXT), '$.body.expiresAt'),
        CASE WHEN json_extract(CAST(outcome AS TEXT), '$.partial.offset') IS NOT NULL
          THEN json_extract(CAST(outcome AS TEXT), '$.completedAt') + 86400000000 END),
      kept_bytes = coalesce(
        json_extract(CAST(outcome AS TEXT), '$.body.size'), json_extract(CAST(outcome AS TEXT), '$.partial.offset'))
      WHERE state = 'completed';
    CREATE INDEX task_by_end ON task (completed, kept_bytes) WHERE completed IS NOT NULL;
    CREATE INDEX task_by_expiry ON task (kept_until) WHERE kept_until IS NOT NULL;
    ALTER TABLE delivery ADD COLUMN finished INTEGER;
    UPDATE delivery SET finished = next_attempt WHERE state <> 'pending';
    CREATE INDEX delivery_finished ON delivery (finished) WHERE finished IS NOT NULL;
    CREATE INDEX delivery_pending_by_task ON delivery (task) WHERE state = 'pending';
    CREATE TABLE journal_pruning (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      through INTEGER NOT NULL,
      time INTEGER NOT NULL
    );
    """

  // Of a message that was tried before, it is not known when: it is tried once more than it need be where the clock is set back.
  private static let eighth = """
    ALTER TABLE delivery ADD COLUMN last_attempt INTEGER NOT NULL DEFAULT 0;
    UPDATE delivery SET last_attempt = min(created, next_attempt);
    CREATE INDEX delivery_tried ON delivery (last_attempt) WHERE state = 'pending';
    """

  // AUTOINCREMENT: a number that was taken must not come again.
  private static let seventh = """
    CREATE TABLE command (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      session BLOB NOT NULL,
      sealed TEXT NOT NULL
    );
    CREATE TABLE work (
      task BLOB PRIMARY KEY NOT NULL,
      session BLOB NOT NULL,
      sealed TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE news (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      sealed TEXT NOT NULL
    );
    """

  private static let fifth = """
    CREATE TABLE cookie (
      session BLOB NOT NULL,
      key TEXT NOT NULL,
      sealed TEXT NOT NULL,
      PRIMARY KEY (session, key)
    );
    CREATE TABLE configuration (
      name TEXT PRIMARY KEY NOT NULL,
      document TEXT NOT NULL,
      created INTEGER NOT NULL,
      updated INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE sequence_reservation (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      last INTEGER NOT NULL
    );
    """

  private static let third = """
    CREATE TABLE credential (
      session BLOB NOT NULL,
      space TEXT NOT NULL,
      sealed TEXT NOT NULL,
      PRIMARY KEY (session, space)
    ) WITHOUT ROWID;
    ALTER TABLE decision ADD COLUMN answer_tag BLOB;
    """

  private static let second = """
    CREATE TABLE decision (
      id BLOB PRIMARY KEY NOT NULL,
      session BLOB NOT NULL,
      task BLOB NOT NULL,
      type TEXT NOT NULL,
      state TEXT NOT NULL,
      created INTEGER NOT NULL,
      expires INTEGER NOT NULL,
      default_answer TEXT NOT NULL,
      arguments TEXT NOT NULL,
      answer TEXT
    );
    CREATE INDEX decision_by_session ON decision (session, id);
    CREATE INDEX decision_pending ON decision (id) WHERE state = 'pending';
    CREATE TABLE file (
      id BLOB PRIMARY KEY NOT NULL,
      created INTEGER NOT NULL,
      size INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      content_type TEXT,
      task BLOB
    );
    ALTER TABLE delivery ADD COLUMN decision BLOB;
    """

  private static let first = """
    CREATE TABLE session (
      id BLOB PRIMARY KEY NOT NULL,
      created INTEGER NOT NULL,
      state TEXT NOT NULL,
      document TEXT NOT NULL,
      last_identifier INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE task (
      id BLOB PRIMARY KEY NOT NULL,
      session BLOB NOT NULL,
      identifier INTEGER NOT NULL,
      kind TEXT NOT NULL,
      state TEXT NOT NULL,
      suspend_count INTEGER NOT NULL,
      created INTEGER NOT NULL,
      specification TEXT NOT NULL,
      request_body BLOB,
      outcome TEXT,
      metrics TEXT,
      has_body_file INTEGER NOT NULL DEFAULT 0,
      small_body BLOB
    );
    CREATE INDEX task_by_session ON task (session, id);
    CREATE INDEX task_unfinished ON task (id) WHERE state <> 'completed';
    CREATE TABLE journal (
      first INTEGER PRIMARY KEY NOT NULL,
      last INTEGER NOT NULL,
      session BLOB NOT NULL,
      task BLOB,
      stream TEXT NOT NULL
    );
    CREATE INDEX journal_by_session ON journal (session, first);
    CREATE INDEX journal_by_task ON journal (task, first) WHERE task IS NOT NULL;
    CREATE TABLE delivery (
      id BLOB PRIMARY KEY NOT NULL,
      session BLOB NOT NULL,
      task BLOB,
      type TEXT NOT NULL,
      url TEXT NOT NULL,
      secret TEXT,
      payload BLOB NOT NULL,
      created INTEGER NOT NULL,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      next_attempt INTEGER NOT NULL,
      last_status INTEGER,
      last_error TEXT
    );
    CREATE INDEX delivery_due ON delivery (next_attempt) WHERE state = 'pending';
    CREATE TABLE idempotency (
      key TEXT PRIMARY KEY NOT NULL,
      fingerprint BLOB NOT NULL,
      status INTEGER NOT NULL,
      content_type TEXT NOT NULL,
      location TEXT,
      body BLOB NOT NULL,
      created INTEGER NOT NULL
    );
    CREATE INDEX idempotency_by_age ON idempotency (created);
    """
}
