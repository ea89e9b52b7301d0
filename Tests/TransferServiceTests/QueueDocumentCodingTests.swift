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

/// The documents of the service and the worker are read as they were written.
@Suite struct QueueDocumentCodingTests {
  private typealias Samples = WorkerSamples

  /// The values are compared by their descriptions, which contain everything except credentials. Not all cases are `Equatable`.
  private func again<Value: QueueDocument>(_ value: Value) throws -> Value {
    try QueueDocumentCoding.decode(Value.self, QueueDocumentCoding.encode(value))
  }

  /// Writes and reads a part of a document.
  private func again<Value: Record>(part value: Value) throws -> Value {
    try Document.read(Value.self, Document.write(value))
  }

  @Test(arguments: Samples.commands.indices) func `commands are read as written`(_ index: Int) throws {
    let command = Samples.commands[index]
    let back = try again(command)
    #expect("\(back)" == "\(command)")
    #expect(Samples.secrets(of: back) == Samples.secrets(of: command))
    let stored = command.stored(for: Samples.session)
    #expect(stored.session == Samples.session)
    let taken = try QueueDocumentCoding.decode(BackgroundCommand.self, stored.document)
    #expect("\(taken)" == "\(command)")
  }

  @Test(arguments: Samples.news.indices) func `news are read as written`(_ index: Int) throws {
    let news = Samples.news[index]
    let back = try again(news)
    #expect("\(back)" == "\(news)")
    #expect(Samples.secrets(of: back) == Samples.secrets(of: news))
  }

  @Test func `samples have every case`() {
    #expect(Set(Samples.commands.map { Samples.name($0) }).count == 17)
    #expect(Set(Samples.news.map { Samples.name($0) }).count == 15)
  }

  /// No process writes such values. A document with one has another version or is damaged.
  @Test func `unexpected values are refused`() throws {
    func refuses<Value: QueueDocument>(_ value: Value) throws -> Bool {
      #expect(!value.isValidForQueue)
      let document = String(decoding: value.document, as: UTF8.self)
      #expect(throws: Never.self) { try Value(document: value.document) }
      return (try? QueueDocumentCoding.decode(Value.self, document)) == nil
    }
    for answer in [.allow, .redirect(nil), .bodyStream(BodyReference(nil))] as [TransferAnswer] {
      #expect(try refuses(BackgroundCommand.task(Samples.task, .answer(answer, question: 1))))
    }
    let facts: [TransferFact] = [
      .accepted(Samples.task, Samples.response),
      .willCache(Samples.task, Samples.response, size: 1, at: Samples.time),
      .keptPartial(Samples.task, Samples.point),
      .asked(Samples.task, 3, .redirect(Samples.response, proposed: Samples.request), at: Samples.time),
      .asked(Samples.task, 4, .bodyStream, at: Samples.time),
      .asked(Samples.task, 5, .response(Samples.response, BodyReference(nil)), at: Samples.time),
    ]
    for fact in facts { #expect(try refuses(WorkerReport.fact(fact))) }
  }

  // MARK: Parts

  @Test(arguments: [[], [0], [255, 0, 10, 13], Array("(file)".utf8), (0...255).map { UInt8($0) }])
  func `bodies in memory are read byte for byte`(_ bytes: [UInt8]) throws {
    var outcome = Samples.outcome
    outcome.body = .memory(bytes)
    guard case .memory(let back) = try again(part: outcome).body else {
      Issue.record("the decoded body is not in memory")
      return
    }
    #expect(back == bytes)
  }

  @Test func `body in a file is read as a file`() throws {
    var outcome = Samples.outcome
    outcome.body = .file
    guard case .file = try again(part: outcome).body else {
      Issue.record("the decoded body is not a file")
      return
    }
  }

  @Test(
    arguments: [
      nil, .data([]), .data([0, 255, 13, 10]), .file(FileID(high: 1, low: 2), size: 1 << 40), .stream,
    ] as [RequestContent?])
  func `requests are read with their bodies`(_ body: RequestContent?) throws {
    var request = Samples.request
    request.body = body
    let back = try again(part: request)
    #expect(back == request)
    #expect(back.credential?.kind == request.credential?.kind)
    #expect(back.headers.fields == request.headers.fields)
  }

  @Test(arguments: Samples.errors) func `errors are read as written`(_ error: TransferError) throws {
    #expect(try again(part: error) == error)
  }

  @Test(arguments: [nil, .serverCertificateHasUnknownRoot] as [URLErrorCode?])
  func `challenges are read with their certificate chain`(_ error: URLErrorCode?) throws {
    let challenge = Samples.challenge(error)
    let back = try again(part: challenge)
    #expect(back == challenge)
    #expect(back.serverTrust?.certificates.map(\.pem) == ["-----BEGIN\nä", "second"])
  }

  @Test func `outcomes are read with all members`() throws {
    let outcome = Samples.outcome
    let back = try again(part: outcome)
    #expect(back.error == outcome.error && back.currentRequest == outcome.currentRequest)
    #expect(back.response == outcome.response && back.progress == outcome.progress)
    #expect(back.partial == outcome.partial && back.size == outcome.size && back.sha256 == outcome.sha256)
    #expect(back.transactions == outcome.transactions && back.endedAt == outcome.endedAt)
  }

  @Test func `work is read as written`() throws {
    #expect(try again(WorkState()) == WorkState())
    #expect(try again(Samples.state) == Samples.state)
  }

  @Test(
    arguments: [
      (false, nil, false), (true, nil, false), (false, .keepingPartial, true), (true, .droppingPartial, true),
    ] as [(Bool, WorkState.Cancellation?, Bool)])
  func `service reads from work which commands arrived`(
    _ isSuspended: Bool, _ cancellation: WorkState.Cancellation?, _ isCancelled: Bool
  ) {
    var state = WorkState()
    (state.isSuspended, state.cancellation) = (isSuspended, cancellation)
    let elsewhere = ReceivedCommands(state)
    #expect(elsewhere.isSuspended == isSuspended && elsewhere.isCancelled == isCancelled)
  }

  // MARK: Unreadable documents

  @Test(arguments: [
    "", " ", "null", "[]", "{}", "1", "\"submit\"", "{", #"{"v":1}"#, #"{"v":1,"submit":[]}"#,
    #"{"v":1,"submit":{}}"#, #"{"v":1,"explode":[1]}"#, #"{"v":1,"submit":["no id"]}"#,
    #"{"v":1,"session":[{"reset":[],"flush":[]}]}"#, #"{"v":1,"submit":[],"ended":[]}"#,
    #"{"v":1,"ended":["tsk_01a3185c-507b-7003-bfff-ffffffffffff"]}"#,
    #"{"submit":["tsk_01a3185c-507b-7003-bfff-ffffffffffff"]}"#,
    #"{"v":1,"submit":["tsk_01a3185c-507b-7003-bfff-ffffffffffff",1]}"#,
  ])
  func `malformed or unknown documents are refused`(_ document: String) {
    #expect(throws: RecordFault.self) {
      try QueueDocumentCoding.decode(BackgroundCommand.self, document)
    }
    #expect(throws: RecordFault.self) { try QueueDocumentCoding.decode(WorkerReport.self, document) }
  }

  /// A document of a later version may look like a known one.
  @Test func `later version is refused`() throws {
    let document = QueueDocumentCoding.encode(BackgroundCommand.session(.reset))
    let next = document.replacingOccurrences(
      of: #""v":\#(Document.version)"#, with: #""v":\#(Document.version + 1)"#)
    #expect(next != document)
    #expect(throws: RecordFault.self) { try QueueDocumentCoding.decode(BackgroundCommand.self, next) }
  }

  /// The reason is for the log. It names the place, but not the value.
  @Test func `reason contains no secrets`() throws {
    for document in [
      #"{"v":1,"task":["\#(Samples.task)",{"answer":[{"challenge":[{"useCredential":[{"persistence":"the-secret"}]}]},1]}]}"#,
      #"{"v":1,"task":["\#(Samples.task)",{"setPriority":["the-secret"]}]}"#,
      #"{"v":1,"task":["the-secret"]}"#,
      #"{"v":"the-secret"}"#, #""the-secret""#,
    ] {
      let refusal = try #require(throws: RecordFault.self) {
        try QueueDocumentCoding.decode(BackgroundCommand.self, document)
      }
      #expect(!"\(refusal)".contains("secret"), "\(refusal)")
    }
  }

  /// A truncated document must not be read as another document.
  @Test func `truncated document is refused`() {
    let documents = Samples.commands.map { QueueDocumentCoding.encode($0) }
    for document in documents {
      for length in 0..<document.utf8.count {
        let piece = String(decoding: document.utf8.prefix(length), as: UTF8.self)
        #expect(throws: RecordFault.self) {
          try QueueDocumentCoding.decode(BackgroundCommand.self, piece)
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
