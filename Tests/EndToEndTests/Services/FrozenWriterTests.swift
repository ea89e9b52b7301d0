import Foundation
import JSON
import Processes
import Synchronization
import TestSupport
import Testing

/// Who stands still in the middle of a commit has locked the database. It is ended, and others go on.
@Suite(.serialized, .blocking, .endsInTime) struct FrozenWriterTests {
  private let directory = TemporaryDirectory.make("ferry-frozen")
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    return true
  }
  private static let json = [("Content-Type", "application/json")]

  /// Stops a process again and again until that has happened within a commit. On a busy machine it may be ended before that was found out.
  /// - Parameter isKept: whether nobody can write, where nobody had a turn for so long.
  private func freeze(
    _ isRunning: () -> Bool, _ signal: (Int32) -> Void, orElse isKept: () throws -> Bool = { true }
  ) throws {
    let turns = try #require(Turnstile(path: directory + "/ferry.db-turn"))
    let end = Date().addingTimeInterval(60)
    while isRunning() {
      try #require(Date() < end, "it writes nothing")
      signal(SIGSTOP)
      if turns.enter(patience: .seconds(2)) {
        turns.leave()
      } else if try isKept() {
        return
      }
      signal(SIGCONT)
      usleep(.random(in: 0..<10_000))
    }
  }

  /// Whether all of its threads have stopped: they go on for a moment behind the signal.
  private static func standsStill(_ process: Int32) -> Bool {
    let place = "/proc/\(process)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
    return threads.allSatisfy { thread in
      let line = try? String(contentsOfFile: "\(place)/\(thread)/stat", encoding: .utf8)
      return line?.split(separator: ")").last?.split(separator: " ").first == "T"
    }
  }

  /// Calls `body` again and again, until the gate is opened.
  private func repeating(_ body: @escaping @Sendable () throws -> Void) -> Gate {
    let isOver = Gate()
    Thread.detachNewThread { while !isOver.wait(seconds: 0) { if (try? body()) == nil { usleep(10_000) } } }
    return isOver
  }

  private func createSessions(at ferry: FerryProcess) -> Gate {
    let port = ferry.port
    return repeating {
      _ = try HTTPClient(port: port).send("POST", "/v1/sessions", Array("{}".utf8), Self.json)
    }
  }

  private func isKept(from ferry: FerryProcess) throws -> Bool {
    try ferry.call("POST", "/v1/sessions", "{}").status != 201
  }

  private func waitForEnd(_ ferry: FerryProcess) throws {
    let end = Date().addingTimeInterval(60)
    while ferry.isRunning, Date() < end { usleep(10_000) }
    try #require(!ferry.isRunning)
    #expect(ferry.end() == SIGKILL)
  }

  /// Also where the other one is just about to take up what it was given, and waits for the database with all that it does.
  @Test(arguments: [false, true]) func aServiceIsTakenOverFrom(_ isBeginning: Bool) throws {
    let first = try FerryProcess(directory: directory)
    let session = try first.session()
    let isOver = createSessions(at: first)
    defer { isOver.open() }
    let other = try FerryProcess(directory: directory)
    if !isBeginning { #expect(first.hasLogged("a service has joined")) }
    try freeze({ first.isRunning }, first.signal) { try isKept(from: other) }
    try waitForEnd(first)
    #expect(try other.run(origin.url, session: session)["error"] == .null)
    #expect(other.terminate() == 0)
  }

  /// There is nobody else yet.
  @Test func aServiceIsTakenOverFromByTheNext() throws {
    let first = try FerryProcess(directory: directory)
    let session = try first.session()
    let isOver = createSessions(at: first)
    defer { isOver.open() }
    try freeze({ first.isRunning }, first.signal)
    let next = try FerryProcess(directory: directory)
    try waitForEnd(first)
    #expect(try next.run(origin.url, session: session)["error"] == .null)
    #expect(next.terminate() == 0)
  }

  /// It takes no part yet.
  @Test func aServiceThatBeginsKeepsNobodyOut() throws {
    let ferry = try FerryProcess(directory: directory)
    let turns = try #require(Turnstile(path: directory + "/ferry.db-turn"))
    func beginner() throws -> ChildProcess? {
      let child = try ChildProcess(
        FerryProcess.binary,
        ["serve", "--listen", "127.0.0.1:0", "--data-directory", directory],
        output: .nothing)
      for _ in 0..<500 where child.isRunning {
        child.send(SIGSTOP)
        if turns.enter(patience: .seconds(2)) {
          turns.leave()
        } else if try isKept(from: ferry) {
          return child
        }
        child.send(SIGCONT)
        usleep(.random(in: 0..<4000))
      }
      child.send(SIGKILL)
      child.waitUntilExit()
      return nil
    }
    let end = Date().addingTimeInterval(120)
    var frozen: ChildProcess?
    while frozen == nil, Date() < end { frozen = try beginner() }
    let found = try #require(frozen, "none was found in a commit")
    while found.isRunning, Date() < end { usleep(10_000) }
    try #require(!found.isRunning)
    #expect(found.terminationStatus == SIGKILL)
    #expect(try !isKept(from: ferry))
    #expect(ferry.terminate() == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/processes") == [])
  }

  /// What waited for its turn at one that stood still, and has ended with it since, never goes out.
  @Test func whoWakesUpSendsNothing() throws {
    let received = Mutex(0)
    let mayAnswer = Gate()
    let slow = TestOrigin { _, socket in
      received.withLock { $0 += 1 }
      mayAnswer.wait()
      try socket.write(TestOrigin.reply("200 OK", []))
      return true
    }
    let first = try FerryProcess(directory: directory)
    let session = try first.session()
    let tasks = try (0..<14).map { _ in
      try first.create(slow.url, session: session, request: #","method":"POST""#)
    }
    while received.withLock({ $0 }) < 6 { usleep(1000) }
    let other = try FerryProcess(directory: directory)
    // Not within a commit: it would be ended for that.
    let turns = try #require(Turnstile(path: directory + "/ferry.db-turn"))
    while true {
      first.signal(SIGSTOP)
      while !Self.standsStill(first.processIdentifier) { usleep(1000) }
      if turns.enter(patience: .seconds(2)) { break }
      first.signal(SIGCONT)
    }
    turns.leave()
    for task in tasks {
      // A stream would break off with the take-over.
      let ended = try other.poll("/v1/tasks/\(task)") { $0["state"]?.string == "completed" }
      #expect(ended.errorCode == -1005)
    }
    mayAnswer.openForGood()
    first.signal(SIGCONT)
    #expect(first.end() == 1)
    #expect(received.withLock { $0 } == 6)
    #expect(other.terminate() == 0)
  }

  /// It would be replaced after a minute if it kept nobody from the database.
  @Test func aWorkerIsReplaced() throws {
    let ferry = try FerryProcess(directory: directory)
    let session = try ferry.call(
      "POST", "/v1/sessions", #"{"type":"background","identifier":"b","delegate":{}}"#
    ).json.id
    _ = try ferry.run(origin.url, session: session)
    let worker = try ferry.worker.waitUntilItWorks()
    let port = ferry.port
    let body = #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)"}}"#
    let isOver = repeating {
      let reply = try HTTPClient(port: port).send(
        "POST", "/v1/sessions/\(session)/tasks", Array(body.utf8), Self.json)
      if reply.status != 201 { usleep(10_000) }
    }
    defer { isOver.open() }
    try freeze({ ferry.worker.pid == worker }, { kill(worker, $0) }) { try isKept(from: ferry) }
    let start = ContinuousClock.now
    _ = try ferry.worker.wait(after: worker)
    #expect(ContinuousClock.now - start < .seconds(45))
    isOver.open()
    let end = Date().addingTimeInterval(60)
    while try isKept(from: ferry), Date() < end { usleep(10_000) }
    let reply = try ferry.call("POST", "/v1/sessions/\(session)/tasks", body)
    #expect(try ferry.end(of: reply.json.id)["error"] == .null)
    #expect(ferry.terminate() == 0)
  }
}
