import Crypto
import Foundation
import GRDB
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// A database of the versions that stored secrets in clear.
@Suite(.serialized) struct PlaintextSecretsTests {
  private let path = TemporaryDirectory.make("ferry-plaintext") + "/test.db"
  private let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
  private let id = Data([UInt8](repeating: 1, count: 16))

  private static let rows = [
    (
      "INSERT INTO session (id, created, state, document) VALUES (?, 1, 'active', ?)",
      #"""
      {"description":"\"Authorization\":\"kept\"","configuration":{"httpAdditionalHeaders":{
      "authorization":"Bearer s3cret","X-Secret":"kept"}},
      "delegate":{"webhook":{"url":"http://a/","secret":"whsec_s3crets3crets3crets3crets3crets3cr"}}}
      """#
    ),
    (
      """
      INSERT INTO task (id, session, identifier, kind, state, suspend_count, created, specification, outcome)
      VALUES (?1, ?1, 1, 'data', 'suspended', 1, 1, ?2, '{"currentRequest":{"url":"http://b/","method":"GET",
      "headers":{"Proxy-Authorization":"Basic s3cret"}},"response":null}')
      """,
      #"""
      {"request":{"url":"http://a/","method":"GET","headers":{"Authorization":"Bearer s3cret","Secret":"kept"}},
      "completion":{"url":"http://a/","secret":"whsec_s3cret"}}
      """#
    ),
    (
      """
      INSERT INTO delivery
        (id, session, type, url, secret, payload, created, state, attempts, next_attempt)
      VALUES (?1, ?1, 'task.didComplete', 'http://a/', 'whsec_s3cret', CAST(?2 AS BLOB), 1, 'pending', 0, 1)
      """, #"{"headers":{"Authorization":"Bearer s3cret"}}"#
    ),
    (
      "INSERT INTO journal (first, last, session, stream) VALUES (1, 2, ?, ?)",
      #"""
      id: 1
      data: {"headers":{"A":"\\","Authorization":"Bearer \"s3cret","B":"Authorization"},"note":"authorization\":\""}

      id: 2
      data: {"headers":{"PROXY-authorization":"s3cret"},"kept":"\"Authorization\":\"kept\""}


      """#
    ),
    (
      """
      INSERT INTO decision (id, session, task, type, state, created, expires, default_answer, arguments, answer)
      VALUES (?1, ?1, ?1, 'task.willPerformHTTPRedirection', 'answered', 1, 1, 'follow', ?2, ?2)
      """, #"{"request":{"headers":{"Authorization":"Bearer s3cret"}}}"#
    ),
    (
      """
      INSERT INTO idempotency (key, fingerprint, status, content_type, body, created)
      VALUES ('k', ?, 201, 'application/json', CAST(? AS BLOB), 1)
      """, #"{"originalRequest":{"headers":{"Authorization":"Bearer s3cret"}}}"#
    ),
  ]

  private func makeOld() throws {
    let queue = try DatabaseQueue(path: path)
    try Migrations.migrator(box).migrate(queue, upTo: "2 decisions, files")
    try queue.write { database in
      for (sql, text) in Self.rows { try database.execute(sql: sql, arguments: [id, text]) }
    }
    try queue.close()
  }

  private func text(_ sql: String) throws -> String {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.read { try String.fetchOne($0, sql: sql) ?? "" }
  }

  /// What is left of it in the database's files.
  private var isInFiles: Bool {
    ["", "-wal"].contains { suffix in
      FileManager.default.contents(atPath: path + suffix)?.range(of: Data("s3cret".utf8)) != nil
    }
  }

  @Test func theyAreSealedAndStillGood() async throws {
    try makeOld()
    #expect(isInFiles)
    let store = try SQLiteStore(path: path, box: box) { _ in }
    #expect(!isInFiles, "not in what is free, either")
    let session = try #require(try await store.sessions().first?.session)
    #expect(session.configuration.httpAdditionalHeaders["Authorization"] == "Bearer s3cret")
    #expect(session.configuration.httpAdditionalHeaders["X-Secret"] == "kept")
    #expect(session.description == #""Authorization":"kept""#)
    #expect(session.delegate?.webhook?.secret == "whsec_s3crets3crets3crets3crets3crets3cr")
    let task = try #require(try await store.task(TaskID(bytes: Array(id)) ?? TaskID(high: 0, low: 0)))
    #expect(task.originalRequest.headers["Authorization"] == "Bearer s3cret")
    #expect(task.originalRequest.headers["Secret"] == "kept")
    #expect(task.currentRequest.headers["Proxy-Authorization"] == "Basic s3cret")
    #expect(task.completion?.secret == "whsec_s3cret")
    let deliveries = try await store.dueDeliveries(at: Timestamp(seconds: 9), limit: 9)
    #expect(deliveries.map(\.webhook?.secret) == ["whsec_s3cret"])
    #expect(deliveries.map(\.payload) == [Array(#"{"headers":{"Authorization":"(redacted)"}}"#.utf8)])
    let reply = try await store.idempotentReply(IdempotencyKey(tenant: .default, text: "k"))
    #expect(reply?.fingerprint == store.fingerprints(of: Array(id)).first)
    #expect(reply?.body == Array(#"{"originalRequest":{"headers":{"Authorization":"(redacted)"}}}"#.utf8))
    await store.close()
  }

  /// Before documents were sealed as a whole.
  private func migrate() throws {
    let queue = try DatabaseQueue(path: path)
    try Migrations.migrator(box).migrate(queue, upTo: "8 a message's last attempt")
    try queue.close()
  }

  @Test func whatOnlyTellsOfThemTellsOfThemNoMore() throws {
    try makeOld()
    try migrate()
    let stream = Self.rows[3].1.replacing(#"Bearer \"s3cret"#, with: "(redacted)")
      .replacing("s3cret", with: "(redacted)")
    #expect(try text("SELECT stream FROM journal") == stream)
    let arguments = #"{"request":{"headers":{"Authorization":"(redacted)"}}}"#
    #expect(try text("SELECT arguments || answer FROM decision") == arguments + arguments)
    #expect(try text("SELECT typeof(stream) FROM journal") == "text")
    #expect(try text("SELECT typeof(body) FROM idempotency") == "blob")
  }

  @Test func itIsDoneOnce() async throws {
    try makeOld()
    await (try SQLiteStore(path: path, box: box) { _ in }).close()
    let all =
      "SELECT (SELECT hex(document) FROM session) || (SELECT hex(specification) || hex(outcome) FROM task)"
    let sealed = try text(all)
    await (try SQLiteStore(path: path, box: box) { _ in }).close()
    #expect(try text(all) == sealed && text("PRAGMA application_id") == "0")
  }

  /// Earlier versions wrote the mark elsewhere, and may have ended before they came to it.
  @Test func whatAnEarlierVersionHasLeftInTheFileGoes() async throws {
    await (try SQLiteStore(path: path, box: box) { _ in }).close()
    try await DatabaseQueue(path: path).writeWithoutTransaction { database in
      try database.execute(
        sql: """
          PRAGMA secure_delete = OFF;
          CREATE TABLE old (text TEXT); INSERT INTO old VALUES ('what-was-written-over'); DROP TABLE old;
          PRAGMA user_version = 1; PRAGMA wal_checkpoint(TRUNCATE)
          """)
    }
    func isThere() throws -> Bool {
      try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data("what-was-written-over".utf8)) != nil
    }
    #expect(try isThere())
    await (try SQLiteStore(path: path, box: box) { _ in }).close()
    #expect(try !isThere() && text("PRAGMA application_id") == "0")
    #expect(try text("PRAGMA user_version") == "\(Schema.current.oldest)")
  }

  /// The key that is to come is not in its file yet when the database is brought up to date.
  @Test func aKeyThatIsNotKeptSealsNothing() async throws {
    try makeOld()
    struct NoDisk: Error {}
    let new = SecretBox(secrets: [8, 7].map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
    #expect(throws: NoDisk.self) {
      try SecretRotation.run(database: path, from: box, to: new) { throw NoDisk() }
    }
    let store = try SQLiteStore(path: path, box: box) { _ in }
    let secrets = try await store.dueDeliveries(at: Timestamp(seconds: 9), limit: 9).map(\.webhook?.secret)
    #expect(secrets == ["whsec_s3cret"] && !isInFiles)
    await store.close()
  }
}
