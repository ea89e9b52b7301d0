import EventLoop
import Foundation
import Ledger
import Synchronization
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// The bytes and the answers of an attempt are kept for the next one.
@Suite(.blocking, .endsInTime) struct WorkerMemoryTests {
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private static let half = 150_000

  /// The connection breaks in the middle; then the origin is busy for some attempts.
  @Test func `busy origin does not discard the partial body`() async throws {
    let bytes = Self.bytes
    let busy = Countdown(2)
    let origin = TestOrigin { request, socket in
      guard let range = request["Range"], let first = Int(range.dropFirst(6).dropLast()) else {
        let head =
          "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\nETag: \"v\"\r\nAccept-Ranges: bytes\r\n\r\n"
        try socket.write(Array(head.utf8) + bytes[..<Self.half])
        return false
      }
      guard busy.isOver() else {
        try socket.write(TestOrigin.reply("503 Busy", Array("later".utf8)))
        return true
      }
      let fields = [
        ("ETag", "\"v\""), ("Content-Range", "bytes \(first)-\(bytes.count - 1)/\(bytes.count)"),
      ]
      try socket.write(TestOrigin.reply("206 Partial Content", Array(bytes[first...]), fields))
      return true
    }
    let bench = try WorkerBench()
    let (process, _, task) = try await bench.submitted(origin.url)
    let outcome = try await bench.outcomes(task)[0]
    #expect(outcome.error == nil && outcome.size == Int64(bytes.count))
    #expect(try bench.body(of: task, outcome) == bytes)
    let rest = "bytes=\(Self.half)-"
    #expect(origin.requests.map { $0["Range"] } == [nil, rest, rest, rest])
    await process.stop()
  }

  /// The task's row names the target of its redirects. Another attempt starts at the first request.
  @Test func `every attempt starts with the original request of the task`() async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let session = try await bench.session()
    var task = try await bench.task(origin.url + "/first", in: session)
    try await bench.leave(task) { state in
      (state.isActive, state.request) = (true, task.currentRequest)
    }
    task.currentRequest = TransferRequest(url: origin.url + "/signed")
    let redirected = task
    try await bench.write { $0.updatedTasks = [redirected] }
    let process = try await bench.started()
    #expect(try await bench.outcomes(task)[0].error == nil)
    #expect(origin.requests.map(\.path) == ["/first"])
    await process.stop()
  }

  /// A worker that dies before the first request must not lose the client's resume data.
  @Test func `resume data is in the first row`() async throws {
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    var task = try await bench.task(
      "http://127.0.0.1:1/", in: session, beginning: bench.now.adding(seconds: 1000))
    let point = ResumePoint(partial: PartialBody(offset: 7, total: 9, validator: "\"v\""), source: task.id)
    task.partial = point
    let resumed = task
    try await bench.write { $0.updatedTasks = [resumed] }
    try await bench.send([.submit(task.id)], of: session, to: process)
    let state = try #require(try await bench.work()[task.id])
    #expect(state.partial == point && state.request == task.currentRequest)
    await process.stop()
  }

  /// The delegate's answer outlives the worker and the attempt that needed it.
  @Test func `answered challenge is not asked again`() async throws {
    // libcurl repeats the request once itself if a reused connection was closed.
    let died = Countdown(2)
    let origin = TestOrigin { request, socket in
      guard request["Authorization"] != nil else {
        try socket.write(TestOrigin.reply("401 No", [], [("WWW-Authenticate", "Basic realm=\"r\"")]))
        return true
      }
      guard died.isOver() else { return false }
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    let bench = try WorkerBench()
    let first = try await bench.started()
    let session = try await bench.session(delegate: delegate) { $0.retry?.backoff = 1000 }
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: first)
    _ = try await bench.news { $0.names(of: task.id).contains("asked") }
    let answer = ChallengeAnswer.useCredential(Credential(user: "u", password: "p"))
    try await bench.send([.task(task.id, .answer(.challenge(answer), question: 1))], of: session, to: first)
    _ = try await bench.news { $0.names(of: task.id).contains("retries") }
    #expect(try await bench.work()[task.id]?.answers.map(\.answer) == [answer])
    await first.stop()
    // The next attempt is due now.
    let waiting = try #require(try await bench.work()[task.id])
    try await bench.leave(task) { state in
      state = waiting
      (state.retryAt, state.retryDelay) = (nil, nil)
    }
    let second = try await bench.started()
    #expect(try await bench.outcomes(task)[0].response?.status == 200)
    #expect(try await bench.news().names(of: task.id).filter { $0 == "asked" }.count == 1)
    await second.stop()
  }

  /// The delegate is asked again after the origin refused its answer.
  @Test func `refused answer is not repeated`() async throws {
    let origin = TestOrigin { request, socket in
      try socket.write(TestOrigin.reply("401 No", [], [("WWW-Authenticate", "Basic realm=\"r\"")]))
      return true
    }
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    let bench = try WorkerBench()
    let (process, session, task) = try await bench.submitted(origin.url, delegate: delegate)
    for round in 1...2 {
      _ = try await bench.news { $0.names(of: task.id).filter { $0 == "asked" }.count == round }
      let answer = ChallengeAnswer.useCredential(Credential(user: "u", password: "\(round)"))
      try await bench.send(
        [.task(task.id, .answer(.challenge(answer), question: round))], of: session, to: process)
    }
    _ = try await bench.news { $0.names(of: task.id).filter { $0 == "asked" }.count == 3 }
    #expect(try await bench.work()[task.id]?.answers == [])
    await process.stop()
  }

  /// The next worker asks again, so the service must withdraw the first decision.
  @Test func `handover withdraws the decision`() async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("401 No", [], [("WWW-Authenticate", "Basic realm=\"r\"")]))
      return true
    }
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    let bench = try WorkerBench()
    let first = try await bench.started()
    let session = try await bench.session(delegate: delegate)
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: first)
    _ = try await bench.news { $0.names(of: task.id).contains("asked") }
    await first.worker.drain()
    #expect(try await bench.news().names(of: task.id).last == "wasTakenOver")
    await first.stop()
    let second = try await bench.started()
    let again = try await bench.news { $0.names(of: task.id).filter { $0 == "asked" }.count == 2 }
    #expect(again.names(of: task.id).suffix(1) == ["asked"])
    await second.stop()
  }

  /// If the delegate was asked, the service has already reported the delayed request.
  @Test func `delayed request that was asked about is not reported again`() async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    for asks in [true, false] {
      var delegate = SessionDelegate()
      delegate.asksForDelayedRequests = asks
      let bench = try WorkerBench()
      let process = try await bench.started()
      let session = try await bench.session(delegate: delegate)
      let task = try await bench.task(origin.url, in: session, beginning: bench.now.adding(seconds: -1))
      try await bench.send([.submit(task.id)], of: session, to: process)
      _ = try await bench.outcomes(task)
      #expect(try await bench.news().names(of: task.id).contains("beganDelayed") == !asks)
      await process.stop()
    }
  }

  /// A suspended task does not count as running.
  @Test func `discretionary task yields only to running tasks`() async throws {
    let gate = Gate()
    let origin = TestOrigin { request, socket in
      if request.path == "/slow" { gate.wait() }
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let process = try await bench.started()
    let (ordinary, patient) = (
      try await bench.session(), try await bench.session { $0.isDiscretionary = true }
    )
    let slow = try await bench.task(origin.url + "/slow", in: ordinary)
    let later = try await bench.task(origin.url + "/later", in: patient)
    try await bench.send([.submit(slow.id)], of: ordinary, to: process)
    try await bench.send([.submit(later.id)], of: patient, to: process)
    #expect(try await bench.work()[later.id]?.isActive == false)
    try await bench.send([.task(slow.id, .suspend)], of: ordinary, to: process)
    #expect(try await bench.outcomes(later)[0].error == nil)
    try await bench.send([.task(slow.id, .resume)], of: ordinary, to: process)
    gate.open()
    #expect(try await bench.outcomes(slow)[0].error == nil)
    await process.stop()
  }
}

/// Returns `false` for the given number of calls, then `true`.
private final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  func isOver() -> Bool {
    left.withLock { left in
      left -= 1
      return left < 0
    }
  }
}
