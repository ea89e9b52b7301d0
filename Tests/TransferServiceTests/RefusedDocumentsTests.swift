import Ledger
import Testing
import TransferModel

@testable import TransferService

/// What cannot be read stays, and so does what comes after it about the same task; everybody else goes on.
@Suite struct RefusedDocumentsTests {
  private static let unknown = #"{"v":1,"explode":["\#(task(1))"]}"#
  private static func task(_ number: UInt64) -> TaskID { TaskID(high: 1, low: number) }
  private static let session = SessionID(high: 7, low: 7)

  private func rows(_ documents: [String]) -> [RefusedDocuments.Row] {
    documents.enumerated().map {
      .init(number: Int64($0.offset + 1), document: $0.element, session: Self.session)
    }
  }

  @Test func whatComesAfterItWaits() {
    var refused = RefusedDocuments()
    let commands: [BackgroundCommand] = [
      .task(Self.task(1), .suspend), .task(Self.task(2), .suspend), .task(Self.task(1), .resume),
      .task(Self.task(2), .resume), .session(.reset),
    ]
    var documents = commands.map { WorkerDocument.encode($0) }
    documents.insert(Self.unknown, at: 1)
    let reading = refused.read(BackgroundCommand.self, rows(documents))
    #expect(
      reading.values.map { "\($0.value)" }
        == [commands[0], commands[1], commands[3], commands[4]].map { "\($0)" })
    #expect(reading.taken == [1...1, 3...3, 5...6])
    #expect(reading.kept == 2 && refused.count == 2)
    #expect(reading.reason?.hasPrefix("row 2: ") == true)
    // The next page as well.
    let more = refused.read(
      BackgroundCommand.self,
      [.init(number: 9, document: WorkerDocument.encode(commands[0]), session: Self.session)])
    #expect(more.values.isEmpty && more.taken.isEmpty && refused.count == 3)
    // What could not be taken, and is read once more, is the same rows.
    _ = refused.read(BackgroundCommand.self, rows(documents))
    #expect(refused.count == 3)
  }

  /// What names no task is of its session: the tasks go on.
  @Test func aSessionsOwnDocumentsKeepTheirOrder() {
    var refused = RefusedDocuments()
    let commands: [BackgroundCommand] = [.session(.flush), .submit(Self.task(1)), .session(.forget)]
    let documents = [#"{"explode":{}}"#] + commands.map { WorkerDocument.encode($0) }
    let reading = refused.read(BackgroundCommand.self, rows(documents))
    #expect(reading.values.map { "\($0.value)" } == ["\(commands[1])"])
    #expect(reading.taken == [3...3])
  }

  /// Nobody would ever ask for it: it is not kept.
  @Test func progressDoesNotWait() {
    var refused = RefusedDocuments()
    let progress = WorkerNews.fact(.progress(Self.task(1), TaskProgress(), at: WorkerSamples.time))
    let reading = refused.read(
      WorkerNews.self, rows([Self.unknown] + Array(repeating: WorkerDocument.encode(progress), count: 100)))
    #expect(reading.values.isEmpty && reading.taken == [2...101] && refused.count == 1)
  }

  /// Nobody knows whom it is about: it stays, and holds nobody.
  @Test func garbageStays() {
    var refused = RefusedDocuments()
    let began = WorkerNews.fact(.began(Self.task(1), at: WorkerSamples.time))
    let found = ["", "{", WorkerDocument.encode(began)].enumerated().map {
      RefusedDocuments.Row(number: Int64($0.offset + 1), document: $0.element)
    }
    let reading = refused.read(WorkerNews.self, found)
    #expect(reading.values.count == 1 && reading.taken == [3...3] && refused.count == 2)
  }

  @Test func aDeletedSessionsAreForgotten() {
    var refused = RefusedDocuments()
    _ = refused.read(WorkerNews.self, rows([Self.unknown]))
    #expect(refused.subjects.map(\.row) == [1] && refused.subjects.map(\.subject.task) == [Self.task(1)])
    refused.forget([1])
    #expect(refused.count == 0)
  }
}

extension RefusedDocuments {
  fileprivate mutating func read<Value: WorkerContent>(_ type: Value.Type, _ rows: [Row]) -> Reading<Value> {
    read(rows.map { Decoded<Value>($0) })
  }
}
