import Crypto
import Foundation
import GRDB
import HTTPFields
import Ledger
import LedgerConformance
import Records
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// A damaged row is reported, stays unchanged, and does not affect other rows.
@Suite(.serialized) struct StrictRowsTests {
  private let path = TemporaryDirectory.make("ferry-strict") + "/test.db"
  private let samples = GoldenSamples()
  private static let box = GoldenSamples.box
  private static let other = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 8, count: 32))])

  private final class Told: Sendable {
    private let rows = Mutex<[UnreadableRow]>([])
    func add(_ row: UnreadableRow) { rows.withLock { $0.append(row) } }
    var all: [UnreadableRow] { rows.withLock { $0 } }
  }

  struct Damage: Sendable, CustomTestStringConvertible {
    let sql: String
    var value: [UInt8]?
    let place: String
    let reason: String
    var testDescription: String { "\(sql): \(place)" }
  }

  private static func seal(_ json: String, _ column: SealedDocument, _ box: SecretBox = box) -> [UInt8] {
    box.seal(Array(json.utf8), as: column.kind)
  }

  private static func task(_ json: String, place: String, reason: String) -> Damage {
    Damage(
      sql: "UPDATE task SET specification = ?", value: seal(json, .specification),
      place: "specification" + place, reason: reason)
  }

  private static func outcome(_ json: String, place: String, reason: String) -> Damage {
    Damage(
      sql: "UPDATE task SET outcome = ?", value: seal(json, .outcome), place: "outcome" + place,
      reason: reason)
  }

  private static let request = #""request":{"url":"http://a/","method":"GET""#

  static let taskDamages: [Damage] = [
    Damage(
      sql: "UPDATE task SET state = 'exploded'", place: "state", reason: "is 'exploded', which is not known"),
    Damage(sql: "UPDATE task SET kind = 'x'", place: "kind", reason: "is 'x', which is not known"),
    Damage(sql: "UPDATE task SET suspend_count = 'x'", place: "suspend_count", reason: "must be an integer"),
    Damage(sql: "UPDATE task SET identifier = x'00'", place: "identifier", reason: "must be an integer"),
    Damage(
      sql: "UPDATE task SET specification = x'0102030405'", place: "specification",
      reason: "is not sealed in a format that this program knows"),
    Damage(
      sql: "UPDATE task SET specification = ?", value: seal("{}", .outcome), place: "specification",
      reason: "was changed since it was sealed"),
    Damage(
      sql: "UPDATE task SET specification = ?", value: seal("{}", .specification, other),
      place: "specification", reason: "is sealed under a key that is not among the service's"),
    Damage(
      sql: "UPDATE task SET specification = 'x'", place: "specification", reason: "must be a blob"),
    task("x", place: "", reason: "is not JSON: unexpected character, at byte 0"),
    task("[]", place: "/v", reason: "is missing: this program knows version 1"),
    task("{}", place: "/v", reason: "is missing: this program knows version 1"),
    task(#"{"v":2}"#, place: "/v", reason: "is 2: this program knows version 1"),
    task(#"{"v":"1"}"#, place: "/v", reason: "is a string: this program knows version 1"),
    task(#"{"v":1}"#, place: "/request", reason: "is missing"),
    task(#"{"v":1,"request":{"method":"GET"}}"#, place: "/request/url", reason: "is missing"),
    task(#"{"v":1,"request":{"url":7}}"#, place: "/request/url", reason: "must be a string, not a number"),
    task(#"{"v":1,\#(request)},"new":1}"#, place: "/new", reason: "is not known"),
    task(#"{"v":1,\#(request),"new":1}}"#, place: "/request/new", reason: "is not known"),
    task(
      #"{"v":1,\#(request),"headers":["a/b",1]}}"#, place: "/request/headers/1",
      reason: "must be a string, not a number"),
    task(
      #"{"v":1,\#(request),"headers":["a"]}}"#, place: "/request/headers",
      reason: "has a name without a value"),
    task(
      #"{"v":1,\#(request),"cachePolicy":"x"}}"#, place: "/request/cachePolicy",
      reason: "is not a known value"),
    outcome(#"{"v":1,"response":{"url":"x"}}"#, place: "/response/status", reason: "is missing"),
    outcome(
      #"{"v":1,"error":{"url":7}}"#, place: "/error/url", reason: "is not a known value"),
    outcome(#"{"v":1,"body":{"size":1,"expiresAt":1}}"#, place: "/body/sha256", reason: "is missing"),
    outcome(
      #"{"v":1,"startedAt":"now"}"#, place: "/startedAt", reason: "must be an integer, not a string"),
    Damage(
      sql: "UPDATE task SET outcome = ?", value: seal("{}", .outcome, other), place: "outcome",
      reason: "is sealed under a key that is not among the service's"),
  ]

  private func fill(_ extra: TransferTask? = nil) async throws {
    let store = try SQLiteLedger(path: path, box: Self.box) { _ in }
    for change in samples.changes { try await store.write(change) }
    if let extra {
      var change = LedgerChange()
      change.createdTasks = [extra]
      change.updatedTasks = [extra]
      try await store.write(change)
    }
    await store.close()
  }

  private func damage(_ damage: Damage, where condition: String = "") throws -> Row? {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.write { database in
      try database.execute(
        sql: damage.sql + condition,
        arguments: damage.value.map { [Data($0)] } ?? [])
      return try Row.fetchOne(database, sql: "SELECT * FROM task" + condition)
    }
  }

  private func expectError(
    _ row: UnreadableRow, _ read: () async throws -> TransferTask?
  ) async {
    do {
      let value = try await read()
      Issue.record("the damaged row was read as \(String(describing: value))")
    } catch LedgerError.unreadable(let found) {
      #expect(found == row)
    } catch {
      Issue.record("\(error)")
    }
  }

  private static func sound(_ number: UInt64, _ sample: TransferTask) -> TransferTask {
    TransferTask(
      id: GoldenSamples.id(number), sessionID: sample.sessionID, taskIdentifier: 6,
      createdAt: sample.createdAt,
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/")))
  }

  @Test(arguments: taskDamages) func `damaged task is isolated`(_ change: Damage) async throws {
    let sound = Self.sound(2, samples.task)
    let id = samples.task.id
    try await fill(sound)
    let condition =
      " WHERE id = x'\(id.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())'"
    let before = try damage(change, where: condition)
    let told = Told()
    let store = try SQLiteLedger(path: path, box: Self.box, unreadable: UnreadableRows { told.add($0) }) {
      _ in
    }
    let row = UnreadableRow(
      kind: .task, id: id.description, place: change.place, reason: change.reason,
      owner: .session(samples.session.id))
    await expectError(row) { try await store.task(id) }
    await expectError(row) { try await store.task(id) }
    // Queries return the tasks before and after the damaged one, up to their limit.
    let query = TaskQuery(session: samples.session.id, limit: 1)
    #expect(try await store.tasks(query) == [sound])
    #expect(try await store.tasks([id, sound.id]) == [sound])
    #expect(try await store.unfinishedTasks(after: nil, limit: 5) == [sound])
    // A damaged task never expires.
    let late = GoldenSamples.time.adding(seconds: 1e9)
    let stale: [FinishedTaskQuery] = [.ended(by: late), .expired(by: late), .keeping]
    for query in stale where change.value == nil || change.reason.contains("seal") {
      #expect(try await store.finishedTasks(query, limit: 9) == [])
    }
    #expect(told.all == [row])
    #expect(store.unreadable.row(.task, id) == row)
    await store.close()
    let queue = try DatabaseQueue(path: path)
    let after = try queue.read { try Row.fetchOne($0, sql: "SELECT * FROM task" + condition) }
    #expect(before == after)
  }

  static let otherDamages: [Damage] = [
    Damage(
      sql: "UPDATE session SET state = 'x'", place: "session.state", reason: "is 'x', which is not known"),
    Damage(
      sql: "UPDATE session SET document = ?",
      value: seal(#"{"v":1,"type":"default","configuration":{"bodyRetention":"x"}}"#, .session),
      place: "session.document/configuration/bodyRetention", reason: "must be a number, not a string"),
    Damage(
      sql: "UPDATE session SET document = ?",
      value: seal(#"{"v":1,"configuration":{},"type":"x"}"#, .session),
      place: "session.document/type", reason: "is not a known value"),
    Damage(
      sql: "UPDATE session SET document = ?",
      value: seal(
        #"{"v":1,"type":"default","configuration":{},"delegate":{"taskChallenges":"x"}}"#, .session),
      place: "session.document/delegate/taskChallenges", reason: "is not a known value"),
    Damage(
      sql: "UPDATE session SET document = ?",
      value: seal(
        #"{"v":1,"type":"default","configuration":{"tlsPinnedPublicKeys":[{"host":"a","keys":["x"]}]}}"#,
        .session),
      place: "session.document/configuration/tlsPinnedPublicKeys/0/keys/0", reason: "is not base64"),
    Damage(
      sql: "UPDATE configuration SET document = ?", value: seal(#"{"v":1,"new":1}"#, .configuration),
      place: "configuration.document/new", reason: "is not known"),
    Damage(
      sql: "UPDATE decision SET state = 'x'", place: "decision.state", reason: "is 'x', which is not known"),
    Damage(sql: "UPDATE decision SET task = x'00'", place: "decision.task", reason: "is not an id"),
    Damage(
      sql: "UPDATE decision SET arguments = x'00'", place: "decision.arguments",
      reason: "is not sealed in a format that this program knows"),
    Damage(
      sql: "UPDATE delivery SET type = 'x'", place: "delivery.type", reason: "is 'x', which is not known"),
    Damage(
      sql: "UPDATE delivery SET secret = 'sealed:AAAA'", place: "delivery.secret",
      reason: "is sealed under another key, or was changed"),
    Damage(
      sql: "UPDATE delivery SET url = x'00'", place: "delivery.url",
      reason: "is not sealed in a format that this program knows"),
    Damage(
      sql: "UPDATE delivery SET history = ?", value: seal("no", .deliveryURL),
      place: "delivery.history",
      reason: "was changed since it was sealed"),
    Damage(
      sql: "UPDATE file SET content_type = x'00'", place: "file.content_type",
      reason: "is not sealed in a format that this program knows"),
    Damage(
      sql: "UPDATE idempotency SET name = x'00'", place: "idempotency.name",
      reason: "is not sealed in a format that this program knows"),
    Damage(sql: "UPDATE file SET size = 'x'", place: "file.size", reason: "must be an integer"),
    Damage(
      sql: "UPDATE journal SET stream = x'00'", place: "journal.stream",
      reason: "is not sealed in a format that this program knows"),
    Damage(
      sql: "UPDATE idempotency SET body = x'00'", place: "idempotency.body",
      reason: "is not sealed in a format that this program knows"),
    Damage(
      sql: "UPDATE credential SET sealed = 'sealed:AAAA' WHERE space = (SELECT min(space) FROM credential)",
      place: "credential.sealed", reason: "is sealed under another key, or was changed"),
    Damage(
      sql: "UPDATE cookie SET sealed = '{}'", place: "cookie.sealed",
      reason: "is sealed under another key, or was changed"),
    Damage(
      sql: "UPDATE cookie SET session = x'00000000000000000000000000000009'", place: "cookie.sealed/session",
      reason: "is not that of the row"),
  ]

  /// A damaged row of any other table is reported once and never read as another value.
  @Test(arguments: otherDamages) func `damaged row is isolated`(_ change: Damage) async throws {
    try await fill()
    _ = try damage(change)
    let told = Told()
    let store = try SQLiteLedger(path: path, box: Self.box, unreadable: UnreadableRows { told.add($0) }) {
      _ in
    }
    let (session, late) = (samples.session.id, GoldenSamples.time.adding(seconds: 99))
    for _ in 0..<2 {
      _ = try await store.sessions()
      _ = try? await store.configuration(samples.named.name)
      _ = try await store.configurations(of: .default, after: nil, limit: 9)
      _ = try? await store.decision(samples.decision.id)
      _ = try await store.decisions(of: session, state: nil, after: nil, limit: 9)
      _ = try await store.dueSamples(at: late)
      _ = try await store.files(of: .default, after: nil, limit: 9)
      _ = try? await store.file(samples.file.id)
      _ = try await store.journal(.session(session), after: 0, maximumBytes: 1 << 20)
      _ = try? await store.reply(under: samples.reply.key)
      for session in try await store.sessionsWithStorage() {
        _ = try await store.storage(of: session)
      }
    }
    let place = change.place.split(separator: ".", maxSplits: 1).map(String.init)
    let rows = told.all
    #expect(rows.count == (place[0] == "session" ? 2 : 1))
    for row in rows {
      #expect(row.kind.rawValue == place[0] && row.place == place[1] && row.reason == change.reason)
    }
    #expect(try await store.dueSamples(at: late).isEmpty == (place[0] == "delivery"))
    await store.close()
  }

  /// A value that Ferry refuses from clients today may have been valid when it was stored.
  @Test func `stored value that clients may no longer send is read`() async throws {
    try await fill()
    let json = """
      {"v":1,"httpMaximumConnectionsPerHost":100000,"bodyRetention":0.5,"httpAdditionalHeaders":["Host","x"],
       "tlsMinimumSupportedProtocolVersion":"TLSv1.3","tlsMaximumSupportedProtocolVersion":"TLSv1.0"}
      """
    _ = try damage(
      Damage(
        sql: "UPDATE configuration SET document = ?", value: Self.seal(json, .configuration), place: "",
        reason: ""))
    let store = try SQLiteLedger(path: path, box: Self.box) { _ in }
    let found = try #require(try await store.configuration(samples.named.name)).configuration
    #expect(found.httpMaximumConnectionsPerHost == 100_000 && found.bodyRetention == 0.5)
    #expect(found.httpAdditionalHeaders["Host"] == "x")
    #expect(
      found.tlsMinimumSupportedProtocolVersion == .v13 && found.tlsMaximumSupportedProtocolVersion == .v10)
    await store.close()
  }
}
