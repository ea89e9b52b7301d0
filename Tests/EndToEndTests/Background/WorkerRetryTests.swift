import Foundation
import JSON
import TestSupport
import Testing

/// Retries of background tasks after a failed attempt.
@Suite(.serialized, .blocking) struct WorkerRetryTests {
  private static let response = "dataTask.didReceiveResponse"
  /// The jitter makes this half a second to a second before the second attempt.
  private static let configuration = #"{"retry":{"backoff":1}}"#

  /// Transient failures. The arguments are the failing response, its `Retry-After`, and the shortest time in seconds
  /// before a retry. After two failures the origin answers 200.
  @Test(arguments: [
    ("503 Service Unavailable", "1", 1.0), ("503 Service Unavailable", nil, 0.5),
    ("429 Too Many Requests", nil, 0.5), ("", nil, 0.5),
  ])
  func `transient failure is retried`(_ failure: String, _ retryAfter: String?, _ shortest: Double) throws {
    let place = try BackgroundFixture()
    let origin = FailingOrigin(failure, retryAfter, times: 2)
    let id = try place.ferry.create(
      origin.url + "/", session: place.session("a", Self.configuration))
    let waiting = try place.ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
    #expect(waiting["phase"]?.string == "waitingToRetry" && waiting["state"]?.string == "running")
    let story = try place.ferry.story(of: id)
    #expect(
      story.filter { $0.type == Self.response }.map { $0.data["response"]?["status"]?.integer } == [200])
    #expect(story.contains { $0.data["phase"]?.string == "waitingToRetry" })
    let task = try place.ferry.task(id)
    #expect(task["retryCount"]?.integer == 2 && task["error"] == .null)
    #expect(task["response"]?["status"]?.integer == 200)
    #expect(origin.pauses.count == 2 && origin.pauses.allSatisfy { $0 >= shortest }, "\(origin.pauses)")
  }

  /// The reason and the time of the next attempt are in the task, its event and the worker's log. They survive the
  /// service.
  @Test(arguments: [("503 Service Unavailable", Int64(503)), ("429 Too Many Requests", 429), ("", nil)])
  func `waiting task shows its last error and next attempt`(_ failure: String, _ status: Int64?) throws {
    let place = try BackgroundFixture()
    let origin = FailingOrigin(failure, status == nil ? nil : "3", times: 1)
    let configuration = #"{"retry":{"backoff":4}}"#
    let url = origin.url + "/a?token=hushed"
    let id = try place.ferry.create(url, session: place.session("a", configuration))
    func isWaiting(_ task: JSONValue) -> Bool { task["phase"]?.string == "waitingToRetry" }
    let waiting = try place.ferry.poll("/v1/tasks/\(id)", until: isWaiting)
    let error = try #require(waiting["lastError"])
    #expect(error["name"]?.string == "badServerResponse" && error["status"]?.integer == status, "\(error)")
    #expect(error["failingURL"]?.string == url && waiting["error"] == .null)
    let time = try #require(waiting["nextAttemptAt"]?.string)
    place.stop(SIGKILL)
    try place.start()
    let again = try place.ferry.task(id)
    if isWaiting(again) { #expect(again["lastError"] == error && again["nextAttemptAt"]?.string == time) }
    let story = try place.ferry.story(of: id)
    let states = story.filter { $0.type == "task.didChangeState" }.map(\.data)
    let told = try #require(states.first(where: isWaiting))
    #expect(told["lastError"] == error && told["nextAttemptAt"]?.string == time)
    #expect(states.allSatisfy { isWaiting($0) || $0["lastError"] == nil && $0["nextAttemptAt"] == nil })
    let end = try place.ferry.task(id)
    #expect(end["error"] == .null && end["lastError"] == nil && end["nextAttemptAt"] == nil)
    let log = try String(contentsOfFile: place.directory + "/worker.log", encoding: .utf8)
    let lines = log.split(separator: "\n").filter { $0.contains("another one follows") }
    #expect(lines.count == 1 && lines.allSatisfy { $0.contains(id) && $0.contains(time) }, "\(lines)")
    #expect(lines.allSatisfy { $0.contains(error["message"]?.string ?? "?") && !$0.contains("hushed") })
  }

  @Test func `refused connection is retried until it succeeds`() throws {
    let place = try BackgroundFixture()
    let closed = ClosedPort()
    let id = try place.ferry.create(
      "http://127.0.0.1:\(closed.port)/", session: place.session("a", Self.configuration))
    let waiting = try place.ferry.poll("/v1/tasks/\(id)") { $0["retryCount"]?.integer == 1 }
    #expect(waiting["retryCount"]?.integer == 1 && waiting["phase"]?.string == "waitingToRetry")
    closed.open()
    let task = try place.ferry.end(of: id)
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 200)
  }

  @Test func `attempts are limited`() throws {
    let place = try BackgroundFixture()
    let origin = FailingOrigin("", nil, times: .max)
    let limited = try place.session("a", #"{"retry":{"maximumAttempts":2,"backoff":0.1}}"#)
    let task = try place.ferry.end(of: place.ferry.create(origin.url + "/", session: limited))
    #expect(task["error"]?["name"]?.string == "badServerResponse", "an empty response is badServerResponse")
    #expect(origin.count == 2 && task["retryCount"]?.integer == 1)
  }

  /// Responses that a retry would not change, and one whose `Retry-After` exceeds the resource timeout.
  @Test(arguments: [("404 Not Found", "1"), ("500 Internal Server Error", nil), ("503 Busy", "60")])
  func `response without a retry is the result`(_ answer: String, _ retryAfter: String?) throws {
    let place = try BackgroundFixture()
    let origin = FailingOrigin(answer, retryAfter, times: .max)
    let session = try place.session("a", #"{"timeoutIntervalForResource":30}"#)
    let id = try place.ferry.create(origin.url + "/", session: session)
    let story = try place.ferry.story(of: id)
    let status = Int64(answer.prefix(3))
    #expect(
      story.filter { $0.type == Self.response }.map { $0.data["response"]?["status"]?.integer } == [status])
    let task = try place.ferry.task(id)
    #expect(task["response"]?["status"]?.integer == status && task["error"] == .null)
    #expect(origin.count == 1 && task["retryCount"]?.integer == 0)
  }

  @Test func `no retry after the resource timeout`() throws {
    let place = try BackgroundFixture()
    let session = try place.session("a", #"{"timeoutIntervalForResource":2,"retry":{"backoff":0.2}}"#)
    // The socket keeps other programs off the port until the task has ended.
    let closed = ClosedPort()
    defer { withExtendedLifetime(closed) {} }
    let task = try place.ferry.end(
      of: place.ferry.create("http://127.0.0.1:\(closed.port)/", session: session))
    #expect(task["error"]?["name"]?.string == "timedOut" && task["retryCount"]?.integer ?? 0 > 0)
  }

  /// A task under which each worker crashes ends, and the other tasks succeed.
  @Test func `task that crashes every worker fails`() throws {
    let place = try BackgroundFixture()
    let worker = place.worker
    let origin = TestOrigin { request, socket in
      if request.path == "/poison" {
        // SIGILL simulates a crash of the worker.
        if let pid = worker.pid { kill(pid, SIGILL) }
        return false
      }
      usleep(100_000)
      try socket.write(TestOrigin.reply("200 OK", Array("well".utf8)))
      return true
    }
    let session = try place.session("a", #"{"retry":{"backoff":0.1}}"#)
    let poisoned = try place.ferry.create(origin.url + "/poison", session: session)
    let others = try (0..<5).map { try place.ferry.create(origin.url + "/\($0)", session: session) }
    _ = try place.ferry.poll("/v1/sessions/\(session)/tasks?state=completed") {
      $0["items"]?.elements?.count ?? 0 >= 5
    }
    for id in others { #expect(try place.ferry.end(of: id)["error"] == .null) }
    for _ in 0..<5 {
      let end = try place.ferry.poll("/v1/tasks/\(poisoned)") { $0["state"]?.string == "completed" }
      if end["state"]?.string == "completed" { break }
    }
    let error = try place.ferry.task(poisoned)["error"] ?? .null
    #expect(error["domain"]?.string == "FerryErrorDomain" && error["name"]?.string == "attemptLimitReached")
    #expect(try place.worker.wait() > 0)
  }
}

/// A reserved port that refuses connections until it is opened.
private final class ClosedPort {
  let port: Int
  private let descriptor: Int32

  init() {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = bind(descriptor, address, size)
        getsockname(descriptor, address, &size)
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  /// Answers each request from now on.
  func open() {
    listen(descriptor, 8)
    let descriptor = descriptor
    Foundation.Thread.detachNewThread {
      while case let connection = accept(descriptor, nil, nil), connection >= 0 {
        let socket = Socket(descriptor: connection)
        while let line = try? socket.readLine(), !line.isEmpty {}
        try? socket.write(TestOrigin.reply("200 OK", [], [("Connection", "close")]))
      }
    }
  }
}
