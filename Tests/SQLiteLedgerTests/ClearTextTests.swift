import Crypto
import Foundation
import GRDB
import HTTPCookies
import HTTPFields
import Ledger
import LedgerConformance
import Records
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Checks which texts are readable in the database's file without the key. docs/operations.md lists them.
@Suite(.serialized) struct ClearTextTests {
  private let path = TemporaryDirectory.make("ferry-clear") + "/test.db"
  private static let time = GoldenSamples.time
  private static let session: SessionID = GoldenSamples.id(1)
  private static let tenant = Tenant(name: marker("tenant"))

  private static func box(_ keys: UInt8...) -> SecretBox {
    SecretBox(secrets: keys.map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
  }

  /// Returns a text that occurs nowhere else.
  private static func marker(_ name: String) -> String { "marker-of-\(name)-7f3a" }

  private static let markers = [
    "description", "identifier", "field", "webhook", "whsec", "url", "body", "completion", "response",
    "error",
    "validator", "metrics", "small", "event", "endpoint", "query", "payload", "failure", "argument", "answer",
    "type", "host", "realm", "user", "password", "cookie", "value", "domain", "path", "configuration", "key",
    "location", "reply", "command", "work", "news", "group", "label",
  ]

  /// Changes with one value of each kind. Each text that a client or an origin chooses contains a marker.
  private static var changes: [LedgerChange] {
    let kept = session
    var configuration = SessionConfiguration()
    configuration.httpAdditionalHeaders = HTTPHeaders([.init(name: "X-A", value: marker("field"))])
    var delegate = SessionDelegate()
    delegate.webhook = Webhook(url: "http://a.test/?\(marker("webhook"))", secret: marker("whsec"))
    var first = LedgerChange()
    first.sessions = [
      TransferSession(
        id: kept, type: .background, createdAt: time, description: marker("description"),
        configuration: configuration, delegate: delegate, identifier: marker("identifier"), tenant: tenant)
    ]
    first.createdTasks = [task]
    first.configurations = [named]
    first.credentials = [credential]
    first.cookies = [(kept, .stored(cookie))]
    first.newDeliveries = [delivery]
    first.newDecisions = [decision]
    first.newFiles = [
      StoredFile(
        id: GoldenSamples.id(8), tenant: tenant, createdAt: time, size: 3, sha256: "ab",
        contentType: "text/\(marker("type"))", fromTask: nil)
    ]
    first.replaceReply(reply, about: nil)
    first.events = [
      TransferEvent(
        .taskWillBeginDelayedRequest, at: time, session: kept, task: task.id,
        .delayed(TransferRequest(url: "http://a.test/\(marker("event"))")))
    ]
    first.commands = [StoredCommand(session: kept, document: marker("command"))]
    first.work = [StoredWork(task: task.id, session: kept, document: marker("work"))]
    first.workerReports = [marker("news")]
    var second = LedgerChange()
    second.updatedTasks = [ended]
    second.smallBodies = [task.id: Array(marker("small").utf8)]
    second.settledDecisions = [SettledDecision(decision)]
    second.updatedDeliveries = [delivery]
    return [first, second]
  }

  private static var task: TransferTask {
    let body = RequestContent.data(Array(marker("body").utf8))
    var specification = TaskSpecification(
      kind: .data,
      request: TransferRequest(url: "http://a.test/?\(marker("url"))", method: "POST", body: body))
    specification.completion = Webhook(url: "http://a.test/?\(marker("completion"))", secret: nil)
    specification.preferences.group = marker("group")
    specification.preferences.labels = [TaskLabel(key: "a", value: marker("label"))]
    return TransferTask(
      id: GoldenSamples.id(3), sessionID: session, taskIdentifier: 1, createdAt: time,
      specification: specification)
  }

  private static var ended: TransferTask {
    var ended = task
    ended.lifecycle = TaskLifecycle(state: .completed, suspendCount: 0)
    ended.response = TransferResponse(
      url: "http://a.test/", status: 200, headers: HTTPHeaders([.init(name: "X", value: marker("response"))]),
      expectedContentLength: -1, httpVersion: "HTTP/1.1")
    ended.error = TransferError(.cancelled, marker("error"))
    ended.partial = ResumePoint(
      partial: PartialBody(offset: 1, total: 2, validator: marker("validator")), source: task.id)
    ended.body = TaskBody(size: 3, sha256: "ab", expiresAt: time)
    var transaction = TransactionMetrics()
    transaction.url = "http://a.test/?\(marker("metrics"))"
    ended.metrics = TaskMetrics(start: time, end: time, transactions: [transaction])
    return ended
  }

  private static var named: NamedConfiguration {
    NamedConfiguration(
      name: ConfigurationName(tenant: tenant, text: marker("configuration")),
      configuration: SessionConfiguration(), createdAt: time, updatedAt: time)
  }

  private static var credential: StoredCredential {
    StoredCredential(
      session: session,
      space: ProtectionSpace(
        host: marker("host"), port: 443, protocolName: "https", realm: marker("realm"),
        authenticationMethod: .httpBasic),
      credential: Credential(user: marker("user"), password: marker("password"), persistence: .permanent))
  }

  private static var cookie: Cookie {
    Cookie(
      name: marker("cookie"), value: marker("value"), domain: marker("domain"), isHostOnly: true,
      path: "/" + marker("path"), expiresDate: time, isSecure: true, isHTTPOnly: true, sameSite: nil,
      created: time, lastAccess: time)
  }

  private static var delivery: WebhookDelivery {
    var delivery = WebhookDelivery.sample(
      id: GoldenSamples.id(6), tenant: tenant, sessionID: session, taskID: GoldenSamples.id(3),
      type: .taskDidComplete,
      webhook: Webhook(url: "http://\(marker("endpoint"))/?\(marker("query"))", secret: marker("whsec")),
      payload: Array(marker("payload").utf8), createdAt: time)
    delivery.record(DeliveryAttempt(at: time, status: nil, reply: marker("said"), error: marker("failure")))
    return delivery
  }

  private static var decision: Decision {
    var decision = Decision(
      id: GoldenSamples.id(7), type: .taskDidReceiveChallenge, sessionID: session,
      taskID: GoldenSamples.id(3),
      createdAt: time, expiresAt: time, defaultAnswer: "follow", arguments: Array(marker("argument").utf8))
    (decision.state, decision.answer, decision.answerTag) = (.answered, Array(marker("answer").utf8), [1])
    return decision
  }

  private static var reply: IdempotentReply {
    IdempotentReply(
      key: IdempotencyKey(tenant: tenant, text: marker("key")), digest: [1], status: 201,
      contentType: "application/json", location: "/v1/configurations/\(marker("location"))",
      body: Array(marker("reply").utf8), createdAt: time)
  }

  /// Returns the markers in the database's files.
  private func found() throws -> Set<String> {
    var found: Set<String> = []
    for name in ["", "-wal"] {
      guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: path + name)) else { continue }
      for name in Self.markers + ["tenant"] where bytes.range(of: Data(Self.marker(name).utf8)) != nil {
        found.insert(name)
      }
    }
    return found
  }

  /// Checks that every row is found by its keyed hash, and that a second write replaces it.
  private func expectNames(_ box: SecretBox, isRotated: Bool = false) async throws {
    let store = try SQLiteLedger(path: path, box: box) { _ in }
    #expect(try await store.configuration(Self.named.name) == Self.named)
    for isGroup in [true, false] {
      var filter = TaskFilter()
      if isGroup { filter.group = Self.marker("group") } else { filter.labels = Self.task.labels }
      let query = TaskQuery(.tenant(Self.tenant), of: Self.tenant, filter, limit: 9)
      #expect(try await store.tasks(query).map(\.id) == [Self.task.id])
    }
    #expect(try await store.configurations(of: Self.tenant, after: nil, limit: 9) == [Self.named])
    #expect(try await store.reply(under: Self.reply.key) == Self.reply)
    var again = LedgerChange()
    again.configurations = [Self.named]
    again.credentials = [Self.credential]
    again.cookies = [(Self.session, .stored(Self.cookie))]
    again.replaceReply(Self.reply, about: nil)
    try await store.write(again)
    #expect(try await store.configurations(of: Self.tenant, after: nil, limit: 9) == [Self.named])
    #expect(try await store.storage(of: Self.session).credentials == [Self.credential])
    #expect(try await store.storage(of: Self.session).cookies == [Self.cookie])
    let ages = ExpiredRecords.Cutoffs(
      deliveries: Self.time, decisions: Self.time, replies: Self.time, groups: Self.time)
    #expect(try await store.staleRecords(ages, limit: 9).replies.map(\.key) == [Self.reply.key])
    #expect(try await store.smallBody(of: Self.task.id) == Array(Self.marker("small").utf8))
    // The destination is found by the hash of the URL, which depends on the key.
    let delivery = try #require(try await store.delivery(Self.delivery.id))
    #expect(delivery.payload == Self.delivery.payload && delivery.attempts == Self.delivery.attempts)
    let url = try #require(delivery.webhook?.url)
    #expect((delivery.destination == store.destination(of: url, for: Self.tenant)) == isRotated)
    await store.close()
  }

  @Test func `database shows only the names of tenants`() async throws {
    let store = try SQLiteLedger(path: path, box: Self.box(1)) { _ in }
    for change in Self.changes { try await store.write(change) }
    #expect(try found() == ["tenant"], "the log of the open database")
    await store.close()
    #expect(try found() == ["tenant"])
    try await expectNames(Self.box(1))
    // The hashes use the old key until the rotation to the new first key.
    try await expectNames(Self.box(2, 1))
    #expect(try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) {} > 20)
    #expect(try found() == ["tenant"])
    try await expectNames(Self.box(2), isRotated: true)
    #expect(try found() == ["tenant"])
  }

  /// Keyed hashes of these columns are compared with hashes under each key, so they are not renewed.
  private static let unchanged: Set<String> = ["idempotency.fingerprint", "decision.answer_tag"]

  /// Returns the values of the columns that are neither sealed nor ids nor texts in clear.
  private func hashes() throws -> [String: Set<Data>] {
    let sealed = SealedDocument.allCases.map(\.place) + SealedText.allCases.map(\.place)
    let ids: Set<StoredColumn> = [.id, .session, .task, .decision, .endpoint, .byte]
    let queue = try DatabaseQueue(path: path)
    var found: [String: Set<Data>] = [:]
    for table in StoredTable.allCases {
      for column in try queue.read({ try $0.columns(in: table.rawValue) }) where column.type == "BLOB" {
        let place = ColumnReference(table, try #require(StoredColumn(rawValue: column.name)))
        guard !sealed.contains(place), !ids.contains(place.column), !Self.unchanged.contains(place.name)
        else {
          continue
        }
        found[place.name] = try queue.read { database in
          try Data.fetchSet(
            database, sql: "SELECT \(column.name) FROM \(table) WHERE \(column.name) IS NOT NULL")
        }
      }
    }
    return found
  }

  @Test func `rotation renews every keyed hash`() async throws {
    let store = try SQLiteLedger(path: path, box: Self.box(1)) { _ in }
    for change in Self.changes { try await store.write(change) }
    await store.close()
    let before = try hashes()
    #expect(before.count > 5)
    _ = try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) {}
    let after = try hashes()
    for (name, old) in before {
      #expect(!old.isEmpty, "the test writes no value into \(name)")
      #expect(after[name]?.count == old.count && after[name]?.isDisjoint(with: old) == true, "\(name)")
    }
  }

  /// The columns with text or bytes in clear. List a new one in docs/operations.md as well.
  @Test func `columns in clear are listed`() throws {
    let queue = try DatabaseQueue()
    try Migrations.migrator(Self.box(1)).migrate(queue)
    let sealed = SealedDocument.allCases.map(\.place) + SealedText.allCases.map(\.place)
    var clear: Set<String> = []
    for table in StoredTable.allCases {
      let columns = try queue.read { try $0.columns(in: table.rawValue) }
      for column in columns where column.type != "INTEGER" {
        let place = ColumnReference(table, try #require(StoredColumn(rawValue: column.name)))
        if !sealed.contains(place) { clear.insert(place.name) }
      }
    }
    #expect(
      clear == [
        // Ids, and the last byte of some.
        "session.id", "task.id", "task.session", "journal.session", "journal.task", "delivery.id",
        "delivery.session", "delivery.task", "delivery.decision", "decision.id", "decision.session",
        "decision.task", "file.id", "file.task", "credential.session", "cookie.session",
        "idempotency.session",
        "webhook_endpoint.id", "delivery.endpoint",
        "command.session", "work.task", "work.session", "shard.byte", "task_label.task",
        // Tenants.
        "session.tenant", "task.tenant", "task_group.tenant", "journal.tenant", "file.tenant",
        "configuration.tenant", "idempotency.tenant", "delivery.tenant", "webhook_endpoint.tenant",
        "journal_pruning_by_tenant.tenant",
        // Ferry's own words.
        "session.state", "session.type", "task.state", "task.kind", "task.result", "delivery.state",
        "delivery.type",
        "decision.state", "decision.type", "decision.default_answer", "idempotency.content_type",
        "process.address",
        // Keyed hashes, and the digest of a stored file.
        "credential.space", "delivery.destination", "cookie.key", "task.group_key", "task_label.key",
        "task_group.key",
        "configuration.key", "idempotency.key", "idempotency.fingerprint",
        "decision.answer_tag", "file.sha256",
      ])
  }
}
