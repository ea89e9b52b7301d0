import Foundation
import HTTPCookies
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel
import TransferStore

@testable import TransferService

/// What the two processes of every version have written for each other is still read: `Tests/Golden/worker` has one of everything,
/// by the version of the format. Its files never change; a new version adds its own.
@Suite struct GoldenDocumentTests {
  private static func documents(_ kind: String, _ version: Int) throws -> [String] {
    try Golden.lines("worker/\(kind)-\(version).ndjson")
  }

  private static let versions = Array(0...WorkerDocument.version)

  @Test(arguments: versions) func everyKindIsThere(_ version: Int) throws {
    // What a later version has added, the earlier ones lack.
    let later: Set<String> = version == 0 ? ["refused"] : []
    let commands = try Self.documents("commands", version).map {
      WorkerSamples.name(try WorkerDocument.decode(WorkerCommand.self, $0))
    }
    #expect(Set(commands) == Set(WorkerSamples.commands.map { WorkerSamples.name($0) }))
    let news = try Self.documents("news", version).map {
      WorkerSamples.name(try WorkerDocument.decode(WorkerNews.self, $0))
    }
    #expect(Set(news) == Set(WorkerSamples.news.map { WorkerSamples.name($0) }).subtracting(later))
  }

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
    let names = Self.versions.flatMap { version in kinds.map { "\($0)-\(version).ndjson" } }
    let later = ["later", "retries"].map { "news-\(WorkerDocument.version).\($0).ndjson" }
    #expect(try Golden.names(in: "worker") == Set(names + later))
  }

  /// Byte for byte, from every process: where this fails, `WorkerDocument.version` grows.
  @Test func theHighestVersionIsWrittenNow() throws {
    func check(_ kind: String, _ written: [some WorkerContent]) throws {
      let lines = written.map { WorkerDocument.encode($0) + "\n" }.joined()
      try Golden.expect(lines, is: "worker/\(kind)-\(WorkerDocument.version).ndjson")
    }
    try check("commands", WorkerSamples.commands)
    try check("news", WorkerSamples.news)
    try check("work", [WorkerSamples.state, WorkState()])
  }

  /// Members that this version got later, and values that the first of its documents lack.
  @Test(arguments: [("later", WorkerSamples.laterNews), ("retries", WorkerSamples.retries)])
  func laterMembersAreWrittenAndRead(_ variant: String, _ samples: [WorkerNews]) throws {
    let name = "worker/news-\(WorkerDocument.version).\(variant).ndjson"
    let lines = samples.map { WorkerDocument.encode($0) + "\n" }.joined()
    try Golden.expect(lines, is: name)
    let read = try Golden.lines(name).map { "\(try WorkerDocument.decode(WorkerNews.self, $0))" }
    #expect(read == samples.map { "\($0)" })
  }

  @Test func theHighestVersionSaysWhatIsSaidNow() throws {
    let version = WorkerDocument.version
    let commands = try Self.documents("commands", version).map {
      "\(try WorkerDocument.decode(WorkerCommand.self, $0))"
    }
    #expect(commands == WorkerSamples.commands.map { "\($0)" })
    let news = try Self.documents("news", version).map { "\(try WorkerDocument.decode(WorkerNews.self, $0))" }
    #expect(news == WorkerSamples.news.map { "\($0)" })
    let work = try Self.documents("work", version).map { try WorkerDocument.decode(WorkState.self, $0) }
    #expect(work == [WorkerSamples.state, WorkState()])
  }

  /// Without numbers, and otherwise the same.
  @Test func theFirstVersionSaysWhatItSaid() throws {
    let commands = try Self.documents("commands", 0).map {
      "\(try WorkerDocument.decode(WorkerCommand.self, $0))"
    }
    let unnumbered = WorkerSamples.commands.map { command -> WorkerCommand in
      switch command {
      case .answer(let task, let answer, _): .answer(task, answer, question: nil)
      case .answerByDefault(let task, _): .answerByDefault(task, question: nil)
      default: command
      }
    }
    #expect(commands == unnumbered.map { "\($0)" })
    let news = try Self.documents("news", 0).map { "\(try WorkerDocument.decode(WorkerNews.self, $0))" }
    let told = WorkerSamples.news.compactMap { news -> WorkerNews? in
      switch news {
      case .challenged(let task, let challenge, let type, let time, _):
        .challenged(task, challenge, type, at: time, question: nil)
      case .refused: nil
      default: news
      }
    }
    #expect(news == told.map { "\($0)" })
    var state = WorkerSamples.state
    state.questions = 0
    let work = try Self.documents("work", 0).map { try WorkerDocument.decode(WorkState.self, $0) }
    #expect(work == [state, WorkState()])
  }

  /// A version that knows more members may write them anywhere: who does not know them passes over them.
  @Test(arguments: versions) func newMembersArePassedOver(_ version: Int) throws {
    func check<Value: WorkerContent>(_ kind: String, _ type: Value.Type) throws {
      for document in try Self.documents(kind, version) {
        let more = try Self.withMore(document)
        #expect(more != document)
        #expect("\(try WorkerDocument.decode(type, more))" == "\(try WorkerDocument.decode(type, document))")
      }
    }
    try check("commands", WorkerCommand.self)
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
  @Test(arguments: versions) func subjectsAreSeen(_ version: Int) throws {
    for document in try Self.documents("news", version) {
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
