import Foundation
import HTTPCookies
import HTTPFields
import Ledger
import Records
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// What the two processes write for each other comes out as it went in.
@Suite struct WorkerDocumentTests {
  private typealias Samples = WorkerSamples

  /// Compared by what they print: cases hold values that need not be comparable, and print all that they hold, but for credentials.
  private func again<Value: WorkerContent>(_ value: Value) throws -> Value {
    try WorkerDocument.decode(Value.self, WorkerDocument.encode(value))
  }

  /// A part of a document.
  private func again<Value: Record>(part value: Value) throws -> Value {
    try Document.read(Value.self, Document.write(value))
  }

  @Test(arguments: Samples.commands.indices) func commandsComeBack(_ index: Int) throws {
    let command = Samples.commands[index]
    let back = try again(command)
    #expect("\(back)" == "\(command)")
    #expect(Samples.secrets(of: back) == Samples.secrets(of: command))
    let stored = command.stored(for: Samples.session)
    #expect(stored.session == Samples.session)
    let taken = try WorkerDocument.decode(BackgroundCommand.self, stored.document)
    #expect("\(taken)" == "\(command)")
  }

  @Test(arguments: Samples.news.indices) func newsComeBack(_ index: Int) throws {
    let news = Samples.news[index]
    let back = try again(news)
    #expect("\(back)" == "\(news)")
    #expect(Samples.secrets(of: back) == Samples.secrets(of: news))
  }

  /// A case that the tables lack would go untested.
  @Test func theTablesHaveEveryCase() {
    #expect(Set(Samples.commands.map { Samples.name($0) }).count == 15)
    #expect(Set(Samples.news.map { Samples.name($0) }).count == 15)
  }

  /// Values that no process writes for another: a document that has one is of another version, or damaged.
  @Test func unexpectedValuesAreRefused() throws {
    func refuses<Value: WorkerContent>(_ value: Value) throws -> Bool {
      #expect(!value.isExpected)
      let document = String(decoding: value.document, as: UTF8.self)
      #expect(throws: Never.self) { try Value(document: value.document) }
      return (try? WorkerDocument.decode(Value.self, document)) == nil
    }
    for answer in [.allow, .redirect(nil), .bodyStream(BodyReference(nil))] as [TransferAnswer] {
      #expect(try refuses(BackgroundCommand.task(Samples.task, .answer(answer, question: 1))))
    }
    let facts: [TransferFact] = [
      .accepted(Samples.task, Samples.response),
      .willCache(Samples.task, Samples.response, size: 1, at: Samples.time),
      .keeps(Samples.task, Samples.point),
      .asked(Samples.task, 3, .redirect(Samples.response, proposed: Samples.request), at: Samples.time),
      .asked(Samples.task, 4, .bodyStream, at: Samples.time),
      .asked(Samples.task, 5, .response(Samples.response, BodyReference(nil)), at: Samples.time),
    ]
    for fact in facts { #expect(try refuses(WorkerNews.fact(fact))) }
  }

  // MARK: Parts

  @Test(arguments: [[], [0], [255, 0, 10, 13], Array("(file)".utf8), (0...255).map { UInt8($0) }])
  func bodiesInMemoryComeBackByteForByte(_ bytes: [UInt8]) throws {
    var outcome = Samples.outcome
    outcome.body = .memory(bytes)
    guard case .memory(let back) = try again(part: outcome).body else {
      Issue.record("it is no body in memory")
      return
    }
    #expect(back == bytes)
  }

  @Test func aBodyInAFileIsOne() throws {
    var outcome = Samples.outcome
    outcome.body = .file
    guard case .file = try again(part: outcome).body else {
      Issue.record("it is no file")
      return
    }
  }

  @Test(
    arguments: [
      nil, .data([]), .data([0, 255, 13, 10]), .file(FileID(high: 1, low: 2), size: 1 << 40), .stream,
    ] as [RequestContent?])
  func requestsComeBackWithTheirBodies(_ body: RequestContent?) throws {
    var request = Samples.request
    request.body = body
    let back = try again(part: request)
    #expect(back == request)
    #expect(back.credential?.kind == request.credential?.kind)
    #expect(back.headers.fields == request.headers.fields)
  }

  @Test(arguments: Samples.errors) func errorsComeBack(_ error: TransferError) throws {
    #expect(try again(part: error) == error)
  }

  @Test(arguments: [nil, .serverCertificateHasUnknownRoot] as [URLErrorCode?])
  func challengesComeBackWithTheChain(_ error: URLErrorCode?) throws {
    let challenge = Samples.challenge(error)
    let back = try again(part: challenge)
    #expect(back == challenge)
    #expect(back.serverTrust?.certificates.map(\.pem) == ["-----BEGIN\nä", "second"])
  }

  @Test func outcomesComeBackWhole() throws {
    let outcome = Samples.outcome
    let back = try again(part: outcome)
    #expect(back.error == outcome.error && back.currentRequest == outcome.currentRequest)
    #expect(back.response == outcome.response && back.progress == outcome.progress)
    #expect(back.partial == outcome.partial && back.size == outcome.size && back.sha256 == outcome.sha256)
    #expect(back.transactions == outcome.transactions && back.endedAt == outcome.endedAt)
  }

  @Test func workComesBack() throws {
    #expect(try again(WorkState()) == WorkState())
    #expect(try again(Samples.state) == Samples.state)
  }

  @Test(
    arguments: [
      (false, nil, false), (true, nil, false), (false, .keepingPartial, true), (true, .droppingPartial, true),
    ] as [(Bool, WorkState.Cancellation?, Bool)])
  func serviceReadsFromWorkWhichOrdersArrived(
    _ isSuspended: Bool, _ cancellation: WorkState.Cancellation?, _ isCancelled: Bool
  ) {
    var state = WorkState()
    (state.isSuspended, state.cancellation) = (isSuspended, cancellation)
    let elsewhere = Elsewhere(state)
    #expect(elsewhere.isSuspended == isSuspended && elsewhere.isCancelled == isCancelled)
  }

  // MARK: What is not understood

  @Test(arguments: [
    "", " ", "null", "[]", "{}", "1", "\"submit\"", "{", #"{"v":1}"#, #"{"v":1,"submit":[]}"#,
    #"{"v":1,"submit":{}}"#, #"{"v":1,"explode":[1]}"#, #"{"v":1,"submit":["no id"]}"#,
    #"{"v":1,"session":[{"reset":[],"flush":[]}]}"#, #"{"v":1,"submit":[],"ended":[]}"#,
    #"{"v":1,"ended":["tsk_01a3185c-507b-7003-bfff-ffffffffffff"]}"#,
    #"{"submit":["tsk_01a3185c-507b-7003-bfff-ffffffffffff"]}"#,
    #"{"v":1,"submit":["tsk_01a3185c-507b-7003-bfff-ffffffffffff",1]}"#,
  ])
  func anotherVersionsWordsAreNone(_ document: String) {
    #expect(throws: RecordFault.self) {
      try WorkerDocument.decode(BackgroundCommand.self, document)
    }
    #expect(throws: RecordFault.self) { try WorkerDocument.decode(WorkerNews.self, document) }
  }

  /// What is of a version that nobody here has heard of may look like what is known.
  @Test func aHigherVersionIsRefused() throws {
    let document = WorkerDocument.encode(BackgroundCommand.session(.reset))
    let next = document.replacingOccurrences(
      of: #""v":\#(Document.version)"#, with: #""v":\#(Document.version + 1)"#)
    #expect(next != document)
    #expect(throws: RecordFault.self) { try WorkerDocument.decode(BackgroundCommand.self, next) }
  }

  /// The reason is for the log: it says where, and nothing of what stands there.
  @Test func aReasonTellsNoSecrets() throws {
    for document in [
      #"{"v":1,"task":["\#(Samples.task)",{"answer":[{"challenge":[{"useCredential":[{"persistence":"the-secret"}]}]},1]}]}"#,
      #"{"v":1,"task":["\#(Samples.task)",{"setPriority":["the-secret"]}]}"#,
      #"{"v":1,"task":["the-secret"]}"#,
      #"{"v":"the-secret"}"#, #""the-secret""#,
    ] {
      let refusal = try #require(throws: RecordFault.self) {
        try WorkerDocument.decode(BackgroundCommand.self, document)
      }
      #expect(!"\(refusal)".contains("secret"), "\(refusal)")
    }
  }

  /// Whatever is cut off leaves no document, and above all no other one.
  @Test func aPieceOfADocumentIsNone() {
    let documents = Samples.commands.map { WorkerDocument.encode($0) }
    for document in documents {
      for length in 0..<document.utf8.count {
        let piece = String(decoding: document.utf8.prefix(length), as: UTF8.self)
        #expect(throws: RecordFault.self) {
          try WorkerDocument.decode(BackgroundCommand.self, piece)
        }
      }
    }
    var outcome = Samples.outcome
    outcome.body = .memory([1, 2, 3])
    let whole = String(decoding: Document.write(outcome), as: UTF8.self)
    for text in ["?QID", "AQI?"] {
      let other = whole.replacing("AQID", with: text)
      #expect(other != whole)
      #expect(throws: RecordFault.self) { try Document.read(TransferOutcome.self, Array(other.utf8)) }
    }
  }
}
