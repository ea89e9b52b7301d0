import Ledger
import Testing
import TransferModel

@testable import TransferService

/// Unreadable documents stay, and so do later ones about the same task. Other tasks continue.
@Suite struct UndecodableDocumentsTests {
  private static let unknown = #"{"v":1,"explode":["\#(task(1))"]}"#
  private static func task(_ number: UInt64) -> TaskID { TaskID(high: 1, low: number) }
  private static let session = SessionID(high: 7, low: 7)

  private func rows(_ documents: [String]) -> [UndecodableDocuments.Row] {
    documents.enumerated().map {
      .init(number: Int64($0.offset + 1), document: $0.element, session: Self.session)
    }
  }

  @Test func `documents after an unreadable one wait`() {
    var refused = UndecodableDocuments()
    let commands: [BackgroundCommand] = [
      .task(Self.task(1), .suspend), .task(Self.task(2), .suspend), .task(Self.task(1), .resume),
      .task(Self.task(2), .resume), .session(.reset),
    ]
    var documents = commands.map { QueueDocumentCoding.encode($0) }
    documents.insert(Self.unknown, at: 1)
    let reading = refused.read(BackgroundCommand.self, rows(documents))
    #expect(
      reading.values.map { "\($0.value)" }
        == [commands[0], commands[1], commands[3], commands[4]].map { "\($0)" })
    #expect(reading.taken == [1...1, 3...3, 5...6])
    #expect(reading.kept == 2 && refused.count == 2)
    #expect(reading.reason?.hasPrefix("row 2: ") == true)
    // On the next page too.
    let more = refused.read(
      BackgroundCommand.self,
      [.init(number: 9, document: QueueDocumentCoding.encode(commands[0]), session: Self.session)])
    #expect(more.values.isEmpty && more.taken.isEmpty && refused.count == 3)
    // Reading the same rows again does not count them twice.
    _ = refused.read(BackgroundCommand.self, rows(documents))
    #expect(refused.count == 3)
  }

  /// A document without a task belongs to its session. The session's tasks continue.
  @Test func `documents about a session keep their order`() {
    var refused = UndecodableDocuments()
    let commands: [BackgroundCommand] = [.session(.flush), .submit(Self.task(1)), .session(.forget)]
    let documents = [#"{"explode":{}}"#] + commands.map { QueueDocumentCoding.encode($0) }
    let reading = refused.read(BackgroundCommand.self, rows(documents))
    #expect(reading.values.map { "\($0.value)" } == ["\(commands[1])"])
    #expect(reading.taken == [3...3])
  }

  @Test func `progress after an unreadable document is discarded`() {
    var refused = UndecodableDocuments()
    let progress = WorkerReport.fact(.progress(Self.task(1), TaskProgress(), at: WorkerSamples.time))
    let reading = refused.read(
      WorkerReport.self,
      rows([Self.unknown] + Array(repeating: QueueDocumentCoding.encode(progress), count: 100)))
    #expect(reading.values.isEmpty && reading.taken == [2...101] && refused.count == 1)
  }

  /// A document without a subject stays, and blocks no task.
  @Test func `garbage stays and blocks nothing`() {
    var refused = UndecodableDocuments()
    let began = WorkerReport.fact(.began(Self.task(1), at: WorkerSamples.time))
    let found = ["", "{", QueueDocumentCoding.encode(began)].enumerated().map {
      UndecodableDocuments.Row(number: Int64($0.offset + 1), document: $0.element)
    }
    let reading = refused.read(WorkerReport.self, found)
    #expect(reading.values.count == 1 && reading.taken == [3...3] && refused.count == 2)
  }

  @Test func `rows of a deleted session are no longer counted`() {
    var refused = UndecodableDocuments()
    _ = refused.read(WorkerReport.self, rows([Self.unknown]))
    #expect(refused.subjects.map(\.row) == [1] && refused.subjects.map(\.subject.task) == [Self.task(1)])
    refused.forget([1])
    #expect(refused.count == 0)
  }
}

extension UndecodableDocuments {
  fileprivate mutating func read<Value: QueueDocument>(_ type: Value.Type, _ rows: [Row]) -> Reading<Value> {
    read(rows.map { Decoded<Value>($0) })
  }
}
