import Foundation
import JSON
import Processes
import Synchronization
import TestSupport
import Testing

/// A process that freezes within a commit keeps the database locked. It is killed, and the others continue.
@Suite(.serialized, .blocking, .endsInTime) struct FrozenWriterTests {
  private let directory = TemporaryDirectory.make("ferry-frozen")
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    return true
  }
  private static let json = [("Content-Type", "application/json")]

  /// Stops a process repeatedly until it is stopped within a commit. On a busy machine it may be killed before the test
  /// notices.
  /// - Parameter isKept: Whether the database is locked. It is called if the test could not get the lock.
  private func freeze(
    _ isRunning: () -> Bool, _ signal: (Int32) -> Void, orElse isKept: () throws -> Bool = { true }
  ) throws {
    let turns = try #require(FairFileLock(path: directory + "/ferry.db-turn"))
    let end = Date().addingTimeInterval(60)
    while isRunning() {
      try #require(Date() < end, "the service wrote nothing within 60 s")
      signal(SIGSTOP)
      if turns.lock(patience: .seconds(2)) {
        turns.unlock()
      } else if try isKept() {
        return
      }
      signal(SIGCONT)
      usleep(.random(in: 0..<10_000))
    }
  }

  /// Whether all threads of the process have stopped, which takes a moment after the signal.
  private static func isStopped(_ process: Int32) -> Bool {
    let place = "/proc/\(process)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
    return threads.allSatisfy { thread in
      let line = try? String(contentsOfFile: "\(place)/\(thread)/stat", encoding: .utf8)
      return line?.split(separator: ")").last?.split(separator: " ").first == "T"
    }
  }

  /// Calls `body` repeatedly until the returned gate is opened.
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

  /// The other service may still be starting. It then waits for the database before it takes over any shard.
  @Test(arguments: [false, true]) func `frozen service is taken over`(_ isBeginning: Bool) throws {
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

  /// No other service runs when this one freezes.
  @Test func `frozen service is taken over by the next`() throws {
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

  /// The starting service has not joined the cluster yet.
  @Test func `frozen starting service does not block others`() throws {
    let ferry = try FerryProcess(directory: directory)
    let turns = try #require(FairFileLock(path: directory + "/ferry.db-turn"))
    func beginner() throws -> ChildProcess? {
      let child = try ChildProcess(
        FerryProcess.binary,
        ["serve", "--listen", "127.0.0.1:0", "--data-directory", directory],
        output: .nothing)
      for _ in 0..<500 where child.isRunning {
        child.send(SIGSTOP)
        if turns.lock(patience: .seconds(2)) {
          turns.unlock()
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
    let found = try #require(frozen, "no service was frozen inside a commit")
    while found.isRunning, Date() < end { usleep(10_000) }
    try #require(!found.isRunning)
    #expect(found.terminationStatus == SIGKILL)
    #expect(try !isKept(from: ferry))
    #expect(ferry.terminate() == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/processes") == [])
  }

  /// A task that waited in the frozen service, and was ended by the take-over, is never sent.
  @Test func `service that wakes up sends no request`() throws {
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
    // The service must not freeze within a commit, because it would be killed.
    let turns = try #require(FairFileLock(path: directory + "/ferry.db-turn"))
    while true {
      first.signal(SIGSTOP)
      while !Self.isStopped(first.processIdentifier) { usleep(1000) }
      if turns.lock(patience: .seconds(2)) { break }
      first.signal(SIGCONT)
    }
    turns.unlock()
    for task in tasks {
      // A stream would end with the take-over.
      let ended = try other.poll("/v1/tasks/\(task)") { $0["state"]?.string == "completed" }
      #expect(ended.errorCode == -1005)
    }
    mayAnswer.openForGood()
    first.signal(SIGCONT)
    #expect(first.end() == 1)
    #expect(received.withLock { $0 } == 6)
    #expect(other.terminate() == 0)
  }

  /// A worker that does not hold the lock would be replaced only after a minute.
  @Test func `frozen worker is replaced`() throws {
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
