import EngineAPI
import Foundation
import JSON
import Ledger
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// An answer applies only to the decision that it names.
@Suite(.blocking, .endsInTime) struct DecisionNumberTests {
  private static let answer = ChallengeAnswer.useCredential(Credential(user: "u", password: "p"))

  /// Requires authentication for a realm.
  private static func origin(_ realm: @escaping @Sendable () -> String) -> TestOrigin {
    TestOrigin { request, socket in
      guard request["Authorization"] != nil else {
        let field = ("WWW-Authenticate", "Basic realm=\"\(realm())\"")
        try socket.write(TestOrigin.reply("401 No", [], [field]))
        return true
      }
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
  }

  private func asking() -> SessionDelegate {
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    return delegate
  }

  private func numbers(_ news: [WorkerReport]) -> [Int] {
    news.compactMap { if case .fact(.asked(_, let number, _, _)) = $0 { number } else { nil } }
  }

  /// A worker asks and dies. The next one asks for another realm, and then the client's answer to the first decision arrives.
  @Test func `answer to the decision of a dead worker is not used for another`() async throws {
    let realm = Realm()
    let origin = Self.origin { realm.name.withLock { $0 } }
    let bench = try WorkerBench()
    let first = try await bench.started()
    let session = try await bench.session(delegate: asking())
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: first)
    #expect(numbers(try await bench.news { !numbers($0).isEmpty }) == [1])
    await bench.written()
    await first.stop()
    realm.name.withLock { $0 = "another" }
    let second = try await bench.started()
    #expect(numbers(try await bench.news { numbers($0).count == 2 }) == [1, 2])
    try await bench.send(
      [.task(task.id, .answer(.challenge(Self.answer), question: 1))], of: session, to: second)
    let state = try #require(try await bench.work()[task.id])
    #expect(state.answers.isEmpty && state.openChallenge?.protectionSpace.realm == "another")
    #expect(origin.requests.allSatisfy { $0["Authorization"] == nil })
    try await bench.send(
      [.task(task.id, .answer(.challenge(Self.answer), question: 2))], of: session, to: second)
    #expect(try await bench.outcomes(task)[0].response?.status == 200)
    await second.stop()
  }

  /// The answer is kept for the next attempt, because no newer decision exists.
  @Test func `answer to the decision of a dead worker is not lost`() async throws {
    let origin = Self.origin { "r" }
    let bench = try WorkerBench()
    let first = try await bench.started()
    let session = try await bench.session(delegate: asking())
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: first)
    _ = try await bench.news { !numbers($0).isEmpty }
    await bench.written()
    await first.stop()
    try await bench.put([.task(task.id, .answer(.challenge(Self.answer), question: 1))], of: session)
    let second = try await bench.started()
    #expect(try await bench.outcomes(task)[0].response?.status == 200)
    #expect(numbers(try await bench.news()) == [1])
    await second.stop()
  }

  /// In the service's engine: each of two redirects needs a decision, and the first answer arrives twice.
  @Test func `repeated answer answers once`() async throws {
    let origin = TestOrigin { request, socket in
      let next = ["/": "/first", "/first": "/second"][request.path]
      if let next {
        try socket.write(TestOrigin.reply("302 Found", [], [("Location", next)]))
      } else {
        try socket.write(TestOrigin.reply("200 OK"))
      }
      return true
    }
    let (facts, told) = AsyncStream.makeStream(of: TransferFact.self)
    let bench = try WorkerBench()
    let engine = try bench.engine { for fact in $0 { told.yield(fact) } }
    var delegate = SessionDelegate()
    delegate.asksForRedirects = true
    var job = TransferJob(
      task: WorkerSamples.task, session: .shared, configuration: SessionConfiguration(), kind: .data,
      request: TransferRequest(url: origin.url + "/"), priority: 0.5)
    job.delegate = delegate
    engine.submit([job])
    var asked: [Int] = []
    var status: Int?
    for await fact in facts {
      switch fact {
      case .asked(let task, let number, .redirect(_, let proposed), _):
        asked.append(number)
        // The answer refuses the redirect, which would show if it were taken for the second decision.
        if number == 2 { engine.perform(.answer(.redirect(nil), question: 1), on: task, in: .shared) }
        engine.perform(.answer(.redirect(proposed), question: number), on: task, in: .shared)
      case .ended(_, let outcome):
        status = outcome.response?.status
        told.finish()
      default: break
      }
    }
    #expect(asked == [1, 2] && status == 200)
    #expect(origin.requests.map(\.path) == ["/", "/first", "/second"])
    await engine.stop()
  }

  /// The number is stored, so a restarted service answers under the same number.
  @Test func `decision keeps its number`() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(.background, delegate: asking())
    let task = try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    for number in [7, 8] {
      let news = WorkerReport.fact(
        .asked(
          task.id, number, .challenge(WorkerSamples.challenge(nil), .taskDidReceiveChallenge),
          at: WorkerSamples.time))
      try await bench.tell([QueueDocumentCoding.encode(news)])
      let decision = try await bench.decision(of: session)
      #expect(decision.question == number)
      _ = try await bench.service.decisions.answer(
        decision, with: JSONParser.parse(Array(#"{"disposition":"performDefaultHandling"}"#.utf8)))
      let commands = try await bench.store.commands(after: 0, limit: 9).map {
        try QueueDocumentCoding.decode(BackgroundCommand.self, $0.content.document)
      }
      let last = BackgroundCommand.task(
        task.id, .answer(.challenge(.performDefaultHandling), question: number))
      #expect("\(try #require(commands.last))" == "\(last)")
    }
    await bench.stop()
  }

  private final class Realm: Sendable {
    let name = Mutex("one")
  }
}
