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

/// Documents of the service and the worker must stay readable. `Tests/Golden/worker` has one of each kind, by the version of the
/// format. Its files never change; a new version adds files.
@Suite struct GoldenDocumentTests {
  private static func name(_ kind: String) -> String { "worker/\(kind)-\(Document.version).ndjson" }

  private static func documents(_ kind: String) throws -> [String] { try GoldenFiles.lines(name(kind)) }

  /// The kind of golden file for a sealed column, or `nil` if the column is not exchanged between processes.
  private static func kind(_ text: SealedText) -> String? {
    switch text {
    case .command: "commands"
    case .news: "news"
    case .work: "work"
    case .credential, .cookie, .deliverySecret, .keyCheck: nil
    }
  }

  @Test func `every exchanged column has golden files`() throws {
    let kinds = SealedText.allCases.compactMap { Self.kind($0) }
    #expect(
      try GoldenFiles.names(in: "worker")
        == Set(kinds.map { String(Self.name($0).dropFirst("worker/".count)) }))
  }

  /// Byte for byte, in every process. If this fails, `Document.version` must grow.
  @Test func `documents are written as in the golden files`() throws {
    func check(_ kind: String, _ written: [some QueueDocument]) throws {
      try GoldenFiles.expect(
        written.map { QueueDocumentCoding.encode($0) + "\n" }.joined(), is: Self.name(kind))
    }
    try check("commands", WorkerSamples.commands)
    try check("news", WorkerSamples.news)
    try check("work", [WorkerSamples.state, WorkState()])
  }

  @Test func `golden documents decode to the samples`() throws {
    let commands = try Self.documents("commands").map {
      "\(try QueueDocumentCoding.decode(BackgroundCommand.self, $0))"
    }
    #expect(commands == WorkerSamples.commands.map { "\($0)" })
    let news = try Self.documents("news").map { "\(try QueueDocumentCoding.decode(WorkerReport.self, $0))" }
    #expect(news == WorkerSamples.news.map { "\($0)" })
    let work = try Self.documents("work").map { try QueueDocumentCoding.decode(WorkState.self, $0) }
    #expect(work == [WorkerSamples.state, WorkState()])
  }

  /// A newer version may add members anywhere. A program that does not know them refuses the document and keeps the row.
  @Test func `unknown members are refused`() throws {
    func check<Value: QueueDocument>(_ kind: String, _ type: Value.Type) throws {
      for document in try Self.documents(kind) {
        let more = try Self.withMore(document)
        #expect(more != document)
        #expect(throws: RecordFault.self) { try QueueDocumentCoding.decode(type, more) }
      }
    }
    try check("commands", BackgroundCommand.self)
    try check("news", WorkerReport.self)
    try check("work", WorkState.self)
  }

  /// Adds a member to every object.
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

  /// The subject is found even if the kind is unknown.
  @Test func `subject of an unknown document is found`() throws {
    for document in try Self.documents("news") {
      let unknown = document.replacingOccurrences(of: #"{"ended":"#, with: #"{"endedOtherwise":"#)
      let subject = DocumentSubject(ofDocument: unknown)
      guard case .changedCookies = try QueueDocumentCoding.decode(WorkerReport.self, document) else {
        #expect(subject == DocumentSubject(WorkerSamples.task) || document.contains("refused"))
        continue
      }
      #expect(subject == DocumentSubject(WorkerSamples.session))
    }
  }
}
