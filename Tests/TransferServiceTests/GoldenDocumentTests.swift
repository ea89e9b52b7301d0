import Foundation
import HTTPCookies
import Ledger
import Records
import SQLiteLedger
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// What the two processes have written for each other is still read: `Tests/Golden/worker` has one of everything, by the version of the
/// format. Its files never change; a new version adds its own.
@Suite struct GoldenDocumentTests {
  private static func name(_ kind: String) -> String { "worker/\(kind)-\(Document.version).ndjson" }

  private static func documents(_ kind: String) throws -> [String] { try Golden.lines(name(kind)) }

  /// The columns that the two processes write for each other, by the golden files of their documents; nil: the store's own.
  private static func kind(_ text: SealedText) -> String? {
    switch text {
    case .command: "commands"
    case .news: "news"
    case .work: "work"
    case .credential, .cookie, .deliverySecret, .keyCheck: nil
    }
  }

  @Test func everyColumnHasItsDocuments() throws {
    let kinds = SealedText.allCases.compactMap { Self.kind($0) }
    #expect(
      try Golden.names(in: "worker") == Set(kinds.map { String(Self.name($0).dropFirst("worker/".count)) }))
  }

  /// Byte for byte, from every process: where this fails, `Document.version` grows.
  @Test func theyAreWrittenAsTheyWere() throws {
    func check(_ kind: String, _ written: [some WorkerContent]) throws {
      try Golden.expect(written.map { WorkerDocument.encode($0) + "\n" }.joined(), is: Self.name(kind))
    }
    try check("commands", WorkerSamples.commands)
    try check("news", WorkerSamples.news)
    try check("work", [WorkerSamples.state, WorkState()])
  }

  @Test func theySayWhatTheySaid() throws {
    let commands = try Self.documents("commands").map {
      "\(try WorkerDocument.decode(BackgroundCommand.self, $0))"
    }
    #expect(commands == WorkerSamples.commands.map { "\($0)" })
    let news = try Self.documents("news").map { "\(try WorkerDocument.decode(WorkerNews.self, $0))" }
    #expect(news == WorkerSamples.news.map { "\($0)" })
    let work = try Self.documents("work").map { try WorkerDocument.decode(WorkState.self, $0) }
    #expect(work == [WorkerSamples.state, WorkState()])
  }

  /// A newer version may write members anywhere: a program that does not know them refuses the document, and keeps it.
  @Test func newMembersAreRefused() throws {
    func check<Value: WorkerContent>(_ kind: String, _ type: Value.Type) throws {
      for document in try Self.documents(kind) {
        let more = try Self.withMore(document)
        #expect(more != document)
        #expect(throws: RecordFault.self) { try WorkerDocument.decode(type, more) }
      }
    }
    try check("commands", BackgroundCommand.self)
    try check("news", WorkerNews.self)
    try check("work", WorkState.self)
  }

  /// One more member in every object.
  private static func withMore(_ document: String) throws -> String {
    func more(_ value: Any) -> Any {
      if let members = value as? [String: Any] {
        return members.mapValues { more($0) }.merging(["ofAnotherVersion": ["a": 1]]) { first, _ in first }
      }
      if let elements = value as? [Any] { return elements.map { more($0) } }
      return value
    }
    let value = try JSONSerialization.jsonObject(with: Data(document.utf8))
    return String(decoding: try JSONSerialization.data(withJSONObject: more(value)), as: UTF8.self)
  }

  /// Whom each is about is seen without knowing its kind.
  @Test func subjectsAreSeen() throws {
    for document in try Self.documents("news") {
      let unknown = document.replacingOccurrences(of: #"{"ended":"#, with: #"{"endedOtherwise":"#)
      let subject = DocumentSubject(ofDocument: unknown)
      guard case .changedCookies = try WorkerDocument.decode(WorkerNews.self, document) else {
        #expect(subject == DocumentSubject(WorkerSamples.task) || document.contains("refused"))
        continue
      }
      #expect(subject == DocumentSubject(WorkerSamples.session))
    }
  }
}
