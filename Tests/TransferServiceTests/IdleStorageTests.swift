import EngineAPI
import Glibc
import HTTPCookies
import Ledger
import Records
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// The cookies and credentials of idle sessions are only in the ledger, without effect on tasks and clients. Here sessions are
/// idle at once.
@Suite(.endsInTime) struct IdleStorageTests {
  /// Sets the cookie `q` to the value in the path, and replies with the cookies of the request.
  private let origin = TestOrigin { request, socket in
    let path = request.path.dropFirst()
    let fields = path.isEmpty ? [] : [("Set-Cookie", "q=\(path); Max-Age=3600; Path=/")]
    try socket.write(TestOrigin.reply("200 OK", Array((request["Cookie"] ?? "").utf8), fields))
    return true
  }

  private static func space(_ realm: String) -> ProtectionSpace {
    ProtectionSpace(host: "127.0.0.1", port: 80, protocolName: "http", realm: realm)
  }

  private static func alice(_ persistence: Credential.Persistence) -> Credential {
    Credential(user: "alice", password: "p", persistence: persistence)
  }

  /// Waits until the session's cookies are only in the ledger.
  private func unloaded(_ session: SessionID, in engine: any TransferExecuting) async throws {
    while engine.storages.isLoaded(session)
      || !engine.cookies.cookies(of: session, now: Timestamp(seconds: 0)).isEmpty
    {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  private func fetch(_ path: String, in session: SessionID, _ bench: LiveServiceBench) async throws -> String
  {
    let task = try await bench.task(origin.url + "/" + path, in: session)
    let ended = try await bench.end(of: task.id)
    #expect(ended.error == nil)
    let body = try #require(try await bench.store.smallBody(of: task.id))
    return String(decoding: body, as: UTF8.self)
  }

  @Test func `idle session is unloaded and loaded again`() async throws {
    let bench = try await LiveServiceBench(idleLifetime: .zero)
    let session = try await bench.session()
    for persistence in [Credential.Persistence.forSession, .permanent] {
      try await bench.service.credentials.set(
        Self.alice(persistence), for: Self.space("\(persistence)"), in: session)
    }
    #expect(try await fetch("1", in: session, bench) == "")
    try await unloaded(session, in: bench.engine)
    #expect(bench.engine.credentials.entries(of: session).map(\.space.realm) == ["forSession"])
    #expect(try await fetch("2", in: session, bench) == "q=1")
    try await unloaded(session, in: bench.engine)
    #expect(try await bench.service.cookies.cookies(of: session, CookieFilter()).map(\.value) == ["2"])
    try await unloaded(session, in: bench.engine)
    let credentials = try await bench.service.credentials.credentials(of: session)
    #expect(credentials.map(\.space.realm) == ["forSession", "permanent"])
    try await unloaded(session, in: bench.engine)
    try await bench.service.cookies.remove(of: session, CookieFilter())
    #expect(try await fetch("", in: session, bench) == "")
    await bench.stop()
  }

  /// Each session is unloaded repeatedly while tasks and clients change its cookies.
  @Test func `unloading loses no cookie`() async throws {
    let bench = try await LiveServiceBench(idleLifetime: .zero)
    await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let session = try await bench.session()
          var last = ""
          for round in 0..<40 {
            let value = "\(number)-\(round)"
            if round % 5 == 4 {
              let found = try await bench.service.cookies.cookies(of: session, CookieFilter())
              #expect(found.map { "q=" + $0.value } == [last])
            }
            #expect(try await fetch(value, in: session, bench) == last)
            last = "q=" + value
          }
        }
      }
    }
    await bench.stop()
  }

  @Test func `start reads no cookies`() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session()
    #expect(try await fetch("1", in: session, bench) == "")
    try await bench.service.runtime.recorder.flush()
    let service = try await bench.restarted()
    #expect(!service.engine.storages.isLoaded(session))
    #expect(try await fetch("", in: session, service) == "q=1")
    await service.stop()
  }

  /// Storing a credential for the session deletes the permanent one.
  @Test func `credential for the session replaces the permanent row`() async throws {
    let bench = try await LiveServiceBench(idleLifetime: .zero)
    let session = try await bench.session()
    for persistence in [Credential.Persistence.permanent, .forSession] {
      try await bench.service.credentials.set(Self.alice(persistence), for: Self.space("r"), in: session)
    }
    #expect(try await bench.store.storage(of: session).credentials.isEmpty)
    #expect(try await fetch("1", in: session, bench) == "")
    try await unloaded(session, in: bench.engine)
    let found = try await bench.service.credentials.credentials(of: session)
    #expect(found.map(\.credential.persistence) == [.forSession])
    await bench.stop()
  }

  /// Credentials for the session are deleted at its end, whether they are loaded or not.
  @Test func `invalidated background session keeps only permanent credentials`() async throws {
    let bench = try await LiveServiceBench(idleLifetime: .zero)
    let session = try await bench.session(.background)
    for persistence in [Credential.Persistence.forSession, .permanent] {
      try await bench.service.credentials.set(
        Self.alice(persistence), for: Self.space("\(persistence)"), in: session)
    }
    while bench.engine.storages.isLoaded(session) { try await Task.sleep(for: .milliseconds(1)) }
    _ = try await bench.service.sessions.invalidate(session, .cancelTasks)
    let credentials = try await bench.service.credentials.credentials(of: session)
    #expect(credentials.map(\.space.realm) == ["permanent"])
    try await bench.service.runtime.recorder.flush()
    #expect(try await bench.store.storage(of: session).credentials.map(\.space.realm) == ["permanent"])
    await bench.stop()
  }
}

/// The same in the worker.
@Suite(.blocking, .endsInTime) struct IdleWorkerStorageTests {
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK", [], [("Set-Cookie", "a=1; Path=/")]))
    return true
  }

  private static let cookie = Cookie(
    name: "b", value: "2", domain: "127.0.0.1", isHostOnly: true, path: "/", expiresDate: nil,
    isSecure: false,
    isHTTPOnly: false, sameSite: nil, created: WorkerSamples.time, lastAccess: WorkerSamples.time)

  @Test func `commands reach an unloaded jar`() async throws {
    let bench = try WorkerBench()
    bench.idleLifetime.withLock { $0 = .zero }
    let process = try await bench.started()
    let session = try await bench.session()
    func sent() async throws -> String {
      let task = try await bench.task(origin.url + "/", in: session)
      try await bench.send([.submit(task.id)], of: session, to: process)
      #expect(try await bench.outcomes(task)[0].error == nil)
      return origin.requests.last?["Cookie"] ?? ""
    }
    func unloaded() async throws {
      while process.engine.storages.isLoaded(session.id)
        || !process.engine.storages.cookies.cookies(of: session.id, now: bench.now).isEmpty
      { try await Task.sleep(for: .milliseconds(1)) }
    }
    #expect(try await sent() == "")
    try await unloaded()
    #expect(try await sent() == "a=1")
    try await unloaded()
    try await bench.send([.session(.setCookies([Self.cookie]))], of: session, to: process)
    try await unloaded()
    #expect(try await sent() == "a=1; b=2")
    try await unloaded()
    try await bench.send([.session(.removeCookies(CookieFilter()))], of: session, to: process)
    #expect(try await sent() == "")
    // The command's row must follow rows that were written for a transfer.
    try await bench.write { change in
      change.credentials = [
        StoredCredential(
          session: session.id, space: WorkerSamples.space, credential: WorkerSamples.certificate)
      ]
    }
    try await unloaded()
    try await bench.send(
      [.session(.keepCredential(WorkerSamples.password, WorkerSamples.space))], of: session, to: process)
    func stored() async throws -> [Credential] {
      await bench.written()
      return try await bench.store.storage(of: session.id).credentials.map(\.credential)
    }
    while try await stored() != [WorkerSamples.password] { try await Task.sleep(for: .milliseconds(1)) }
    try await unloaded()
    try await bench.send([.session(.forgetCredentials([WorkerSamples.space]))], of: session, to: process)
    while try await !stored().isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    await process.stop()
  }

  /// One thread records a response's cookies under the lock of all cookies, while another handles a command about cookies.
  @Test func `command is not performed under the lock of the cookies`() async throws {
    let bench = try WorkerBench()
    let (isRecording, isGiven, once) = (Gate(), Gate(), Gate())
    once.open()
    bench.moments.withLock {
      $0.recorded = { change in
        guard !change.cookies.isEmpty, once.wait(seconds: 0) else { return }
        isRecording.open()
        _ = isGiven.wait()
        usleep(20_000)
      }
    }
    let process = try await bench.started()
    let session = try await bench.session()
    let task = try await bench.task(origin.url + "/", in: session)
    async let commands: Void = {
      _ = isRecording.wait() || isRecording.wait()
      isGiven.open()
      let command = SessionCommand.setCookies([Self.cookie])
      process.worker.handle(
        [.sessionCommand(0)], of: .init(asides: [(command: command, session: session.id)]))
    }()
    try await bench.send([.submit(task.id)], of: session, to: process)
    #expect(try await bench.outcomes(task)[0].error == nil)
    _ = await commands
    func names() -> Set<String> {
      Set(process.engine.storages.cookies.cookies(of: session.id, now: Timestamp(seconds: 0)).map(\.name))
    }
    while names() != ["a", "b"] { try await Task.sleep(for: .milliseconds(1)) }
    await process.stop()
  }

  /// A jar that only commands have filled is unloaded too.
  @Test func `cookies from commands are unloaded`() async throws {
    let bench = try WorkerBench()
    bench.idleLifetime.withLock { $0 = .zero }
    let process = try await bench.started()
    let session = try await bench.session()
    try await bench.send([.session(.setCookies([Self.cookie]))], of: session, to: process)
    while process.engine.storages.isLoaded(session.id) { try await Task.sleep(for: .milliseconds(1)) }
    #expect(try await bench.store.storage(of: session.id).cookies.map(\.name) == ["b"])
    await process.stop()
  }
}
