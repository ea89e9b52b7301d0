import Crypto
import Foundation
import GRDB
import JSON
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// Documents of every version are read for ever: one of each kind is kept as it was written, and never changed. What is written
/// another way is another version.
@Suite(.serialized) struct GoldenTests {
  private let path = TemporaryDirectory.make("ferry-golden") + "/test.db"
  private static let versions = 1...DocumentVersion.current

  /// Whole documents, and what is sealed as text by itself. What the two processes tell each other has documents of its own.
  private static func kinds(_ version: Int) -> [String] {
    let documents = version == 1 ? DocumentKind.first : DocumentKind.allCases
    return documents.map(\.name) + [SealedText.credential, .cookie, .deliverySecret].map(\.name)
  }

  private static func golden(_ version: Int, _ name: String) throws -> [UInt8] {
    try Golden.bytes("store/\(version)/\(name)")
  }

  @Test(arguments: versions) func everyKindHasItsDocument(_ version: Int) throws {
    let variants = ["session.document.background", "credential.sealed.certificate"]
    #expect(try Golden.names(in: "store/\(version)") == Set(Self.kinds(version) + variants))
    for kind in DocumentKind.allCases where kind.hasVersion {
      let written = try JSONParser.parse(try Self.golden(version, kind.name))["v"]?.integer
      #expect(written == (version == 1 ? nil : Int64(version)), "\(kind)")
    }
  }

  /// What is written now is what the newest golden document says: where this fails, `DocumentVersion.current` grows.
  @Test func theNewestAreAsTheyAreWritten() throws {
    let version = DocumentVersion.current
    let samples = GoldenSamples(version: version)
    var sequence: Int64 = 0
    let fragments = JournalFragment.render([samples.event], [:], &sequence)
    func written(_ kind: DocumentKind) -> [UInt8] {
      switch kind {
      case .session: samples.session.document
      case .configuration: samples.named.document
      case .specification: samples.task.specificationDocument
      case .requestBody: samples.task.originalRequest.body?.data ?? []
      case .outcome: samples.task.outcomeDocument
      case .metrics: samples.metrics.json
      case .stream: fragments[0].bytes
      case .payload: samples.delivery.payload
      case .arguments: samples.decision.arguments
      case .answer: samples.decision.answer ?? []
      case .reply: samples.reply.body
      case .smallBody: [0, 1, 255]
      case .deliveryURL: Array((samples.delivery.webhook?.url ?? "").utf8)
      case .deliveryError: Array((samples.delivery.lastError ?? "").utf8)
      case .fileType: Array((samples.file.contentType ?? "").utf8)
      case .replyKey: Array(samples.reply.key.text.utf8)
      case .replyLocation: Array((samples.reply.location ?? "").utf8)
      case .configurationName: Array(samples.named.name.text.utf8)
      }
    }
    func written(_ text: SealedText) -> String? {
      switch text {
      case .credential: samples.credential.document
      case .cookie: samples.cookie.document(of: samples.session.id)
      case .deliverySecret: samples.delivery.webhook?.secret
      // What the two processes tell each other has documents of its own, and the check has none.
      case .command, .news, .work, .keyCheck: nil
      }
    }
    var all = DocumentKind.allCases.map { ($0.name, written($0)) }
    all += SealedText.allCases.compactMap { text in written(text).map { (text.name, Array($0.utf8)) } }
    all += [
      ("session.document.background", samples.background.document),
      ("credential.sealed.certificate", Array(samples.certificate.document.utf8)),
    ]
    #expect(try Set(all.map(\.0)) == Golden.names(in: "store/\(version)"))
    for (name, bytes) in all { try Golden.expect(bytes, is: "store/\(version)/\(name)") }
  }

  @Test(arguments: versions) func theyAreReadAsTheyWereWritten(_ version: Int) async throws {
    try await make(version)
    try await Self.expectAll(path, version, GoldenSamples.box)
  }

  /// The database at `path` has all that the version's samples have, and reads it as they are.
  static func expectAll(_ path: String, _ version: Int, _ box: SecretBox) async throws {
    let samples = GoldenSamples(version: version)
    let unreadable = UnreadableRows { Issue.record("\($0)") }
    let store = try SQLiteStore(path: path, box: box, unreadable: unreadable) { _ in }
    #expect(try await store.sessions().map(\.session) == [samples.session, samples.background])
    #expect(try await store.configuration(samples.named.name) == samples.named)
    #expect(try await store.task(samples.task.id) == samples.task)
    let metrics = try #require(try await store.metrics(of: samples.task.id))
    #expect(String(decoding: metrics, as: UTF8.self) == String(decoding: samples.metrics.json, as: UTF8.self))
    #expect(
      Set(try await store.credentials(of: samples.session.id).map(\.document)) == [
        samples.credential.document, samples.certificate.document,
      ])
    #expect(try await store.cookies(of: samples.session.id) == [samples.cookie])
    #expect(try await store.decision(samples.decision.id) == samples.decision)
    #expect(try await store.dueDeliveries(at: GoldenSamples.time, limit: 9) == [samples.delivery])
    #expect(try await store.pendingBackgroundDeliveries() == [])
    #expect(try await store.idempotentReply(samples.reply.key) == samples.reply)
    #expect(try await store.file(samples.file.id) == samples.file)
    let page = try await store.journal(.tenant(samples.session.tenant), after: 0, maximumBytes: 1 << 20)
    let others = try await store.journal(.tenant(.default), after: 0, maximumBytes: 1 << 20)
    #expect(others.fragments == [])
    #expect(page.fragments.map(\.bytes) == [try Self.golden(version, "journal.stream")])
    // The stream says it to the millisecond.
    #expect(page.fragments.map { $0.time?.milliseconds } == [GoldenSamples.time.milliseconds])
    #expect(
      try await store.oldestEvents(limit: 9).map(\.time.milliseconds) == [GoldenSamples.time.milliseconds])
    await store.close()
  }

  /// Under a key of its own, once the old one is dropped: also what is sealed within documents of the first version.
  @Test(arguments: versions) func theyAreSealedAnew(_ version: Int) async throws {
    try await make(version)
    let new = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 8, count: 32))])
    let both = SecretBox(secrets: [8, 7].map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
    #expect(try SecretRotation.run(database: path, from: GoldenSamples.box, to: both) {} > 12)
    try await Self.expectAll(path, version, new)
  }

  /// A database that has the golden documents of that version in it.
  private func make(_ version: Int) async throws {
    let pool = try DatabasePool(path: path)
    try Migrations.migrator(GoldenSamples.box).migrate(
      pool, upTo: version == 1 ? "8 a message's last attempt" : "9 documents sealed")
    try await pool.write { database in
      for (sql, arguments) in try Self.rows(version) { try database.execute(sql: sql, arguments: arguments) }
    }
    try pool.close()
  }

  private static func rows(_ version: Int) throws -> [(String, StatementArguments)] {
    let (samples, box) = (GoldenSamples(version: version), GoldenSamples.box)
    let (session, task, time) = (
      Data(samples.session.id.bytes), Data(samples.task.id.bytes), GoldenSamples.time.microseconds
    )
    /// As it stood in the column of that version.
    func whole(_ kind: DocumentKind, _ variant: String = "", wasBlob: Bool = false) throws -> DatabaseValue {
      let bytes = try golden(version, kind.name + variant)
      if version > 1 { return Data(box.seal(bytes, as: kind)).databaseValue }
      return wasBlob ? Data(bytes).databaseValue : String(decoding: bytes, as: UTF8.self).databaseValue
    }
    func sealed(_ name: String) throws -> String {
      box.seal(String(decoding: try golden(version, name), as: UTF8.self))
    }
    var rows: [(String, StatementArguments)] = [
      (
        "INSERT INTO session (id, created, state, document, last_identifier) VALUES (?, ?, 'invalidating', ?, 5)",
        [session, time, try whole(.session)]
      ),
      (
        "INSERT INTO session (id, created, state, document, last_identifier) VALUES (?, ?, 'active', ?, 0)",
        [Data(samples.background.id.bytes), time, try whole(.session, ".background")]
      ),
      (
        "INSERT INTO configuration (name, document, created, updated) VALUES ('golden', ?, ?, ?)",
        [try whole(.configuration), time, time + 1_000_000]
      ),
      (
        """
        INSERT INTO task (id, session, identifier, kind, state, suspend_count, created, specification, request_body,
          outcome, metrics) VALUES (?, ?, 5, 'download', 'completed', 0, ?, ?, ?, ?, ?)
        """,
        [
          task, session, time, try whole(.specification), try whole(.requestBody, wasBlob: true),
          try whole(.outcome), try whole(.metrics),
        ]
      ),
      (
        "INSERT INTO journal (first, last, session, task, stream) VALUES (1, 1, ?, ?, ?)",
        [session, task, try whole(.stream)]
      ),
      (
        """
        INSERT INTO delivery (id, session, task, type, url, secret, payload, created, state, attempts, next_attempt,
          last_status, last_error, decision, last_attempt)
        VALUES (?, ?, ?, 'task.didComplete', 'http://a.test/done', ?, ?, ?, 'pending', 2, ?, 500, 'no', ?, ?)
        """,
        [
          Data(samples.delivery.id.bytes), session, task, try sealed("delivery.secret"),
          try whole(.payload, wasBlob: true), time, time, Data(samples.decision.id.bytes), time,
        ]
      ),
      (
        """
        INSERT INTO decision (id, session, task, type, state, created, expires, default_answer, arguments, answer,
          answer_tag) VALUES (?, ?, ?, 'task.willPerformHTTPRedirection', 'answered', ?, ?, 'follow', ?, ?, ?)
        """,
        [
          Data(samples.decision.id.bytes), session, task, time, time + 60_000_000, try whole(.arguments),
          try whole(.answer), Data([1, 2, 3]),
        ]
      ),
      (
        """
        INSERT INTO idempotency (key, fingerprint, status, content_type, location, body, created)
        VALUES ('k', ?, 201, 'application/json', '/v1/x', ?, ?)
        """, [Data([1, 2]), try whole(.reply, wasBlob: true), time]
      ),
      (
        "INSERT INTO file (id, created, size, sha256, content_type, task) VALUES (?, ?, 3, 'ab', 'a/b', ?)",
        [Data(samples.file.id.bytes), time, task]
      ),
      (
        "INSERT INTO cookie (session, key, sealed) VALUES (?, 'x', ?)",
        [session, try sealed("cookie.sealed")]
      ),
    ]
    for name in ["credential.sealed", "credential.sealed.certificate"] {
      rows.append(
        (
          "INSERT INTO credential (session, space, sealed) VALUES (?, ?, ?)",
          [session, name, try sealed(name)]
        ))
    }
    if version > 1 { rows.append(("UPDATE journal SET time = ?", [time])) }
    return rows
  }
}
