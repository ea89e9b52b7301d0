import Crypto
import Foundation
import JSON
import KeyDerivation
import Ledger
import LedgerConformance
import Records
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Reads the golden documents, one of each kind, which never change. Another form needs another version.
@Suite(.serialized) struct GoldenDocumentFormatTests {
  /// Further golden documents of some kinds.
  private static let variants = [
    "session.document.background", "credential.sealed.certificate", "session.document.more",
    "configuration.document.more", "task.specification.more", "task.outcome.more", "task.outcome.stamped",
    "task.outcome.retrying", "task.outcome.attempts", "task.outcome.changed", "task.specification.grouped",
    "task.specification.requirements",
    "delivery.history.more",
  ]

  /// All kinds of documents and sealed texts. The queues between service and worker have golden documents of their own.
  private static let kinds =
    SealedDocument.allCases.map(\.name) + [SealedText.credential, .cookie, .deliverySecret].map(\.name)

  @Test func `every kind has a golden document`() throws {
    #expect(try GoldenFiles.names(in: "store/1") == Set(Self.kinds + Self.variants))
    for kind in [SealedDocument.session, .configuration, .specification, .outcome] {
      let written = try JSONParser.parse(try GoldenFiles.bytes("store/1/\(kind.name)"))["v"]?.integer
      #expect(written == Int64(Document.version), "\(kind)")
    }
  }

  /// New documents must equal the golden ones. If this fails, `Document.version` must grow.
  @Test func `new documents equal the golden ones`() throws {
    let samples = GoldenSamples()
    var sequence: Int64 = 0
    let fragments = JournalFragment.render([samples.event], [:], &sequence)
    func written(_ kind: SealedDocument) -> [UInt8] {
      switch kind {
      case .session: samples.session.document
      case .configuration: Document.write(samples.named.configuration)
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
      case .deliveryError: Array("no".utf8)
      case .attempts: samples.delivery.attemptsDocument
      case .endpoint: samples.endpoint.document
      case .fileType: Array((samples.file.contentType ?? "").utf8)
      case .replyKey: Array(samples.reply.key.text.utf8)
      case .replyLocation: Array((samples.reply.location ?? "").utf8)
      case .configurationName: Array(samples.named.name.text.utf8)
      case .groupName: Array("import-2026-11".utf8)
      case .groupCounts: Document.write(samples.groupCounts)
      case .eventTags: Document.write(samples.tags)
      }
    }
    func written(_ text: SealedText) -> String? {
      switch text {
      case .credential: String(decoding: Document.write(samples.credential), as: UTF8.self)
      case .cookie:
        String(
          decoding: Document.write(StoredCookie(session: samples.session.id, cookie: samples.cookie)),
          as: UTF8.self)
      case .deliverySecret: samples.delivery.webhook?.secret
      // The queues between service and worker have golden documents of their own, and the key check has none.
      case .command, .news, .work, .keyCheck: nil
      }
    }
    var all = SealedDocument.allCases.map { ($0.name, written($0)) }
    all += SealedText.allCases.compactMap { text in written(text).map { (text.name, Array($0.utf8)) } }
    all += [
      ("session.document.background", samples.background.document),
      ("credential.sealed.certificate", Document.write(samples.certificate)),
      ("delivery.history.more", samples.attempted.attemptsDocument),
    ]
    for (name, bytes) in all { try GoldenFiles.expect(bytes, is: "store/1/\(name)") }
  }

  /// Checks that the database at `path` has all samples.
  static func expectAll(_ path: String, _ box: SecretBox) async throws {
    let samples = GoldenSamples()
    let unreadable = UnreadableRows { Issue.record("\($0)") }
    let store = try SQLiteLedger(path: path, box: box, unreadable: unreadable) { _ in }
    #expect(try await store.sessions().map(\.session) == [samples.session, samples.background])
    #expect(try await store.configuration(samples.named.name) == samples.named)
    #expect(try await store.task(samples.task.id) == samples.task)
    let metrics = try #require(try await store.metrics(of: samples.task.id))
    #expect(String(decoding: metrics, as: UTF8.self) == String(decoding: samples.metrics.json, as: UTF8.self))
    let credentials = try await store.storage(of: samples.session.id).credentials
    #expect(credentials.count == 2)
    #expect(credentials.contains(samples.credential) && credentials.contains(samples.certificate))
    #expect(try await store.storage(of: samples.session.id).cookies == [samples.cookie])
    #expect(try await store.decision(samples.decision.id) == samples.decision)
    let delivery = try #require(try await store.delivery(samples.delivery.id))
    // The destination depends on the key, and an earlier version did not store it.
    #expect(delivery.webhook == samples.delivery.webhook && delivery.payload == samples.delivery.payload)
    #expect(delivery.tenant == samples.delivery.tenant && delivery.attempts == samples.delivery.attempts)
    #expect(delivery.attemptCount == 2 && delivery.schedulePlace == 2 && delivery.state == .pending)
    #expect(delivery.decisionID == samples.delivery.decisionID && delivery.place == .unordered)
    #expect(try await store.pendingBackgroundDeliveries() == [])
    let row = try #require(try await store.storedReply(samples.reply.key))
    var reply = row.reply
    reply.digest = samples.reply.digest
    // Databases of the first migrations store the digest itself.
    let digests = [reply.digest, GoldenSamples.box.requests.digest(of: reply.digest)]
    #expect(digests.contains(row.fingerprint))
    #expect(reply == samples.reply)
    #expect(try await store.file(samples.file.id) == samples.file)
    let page = try await store.journal(.tenant(samples.session.tenant), after: 0, maximumBytes: 1 << 20)
    let others = try await store.journal(.tenant(.default), after: 0, maximumBytes: 1 << 20)
    #expect(others.fragments == [])
    #expect(page.fragments.map(\.bytes) == [try GoldenFiles.bytes("store/1/journal.stream")])
    // The stream has times in milliseconds.
    #expect(page.fragments.map { $0.time?.milliseconds } == [GoldenSamples.time.milliseconds])
    #expect(
      try await store.oldestEvents(limit: 9).map(\.time.milliseconds) == [GoldenSamples.time.milliseconds])
    await store.close()
  }
}
