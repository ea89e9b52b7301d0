import Addresses
import BlobStore
import Crypto
import EngineAPI
import EventLoop
import Foundation
import HTTPTypes
import JSON
import Ledger
import Logging
import MemoryLedger
import Records
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferEngine
import TransferModel

@testable import HTTPServer
@testable import TransferAPI
@testable import TransferService

/// The API over a real ledger and a real engine, without a socket, for three tenants.
final class InProcessAPI: Sendable {
  static let (a, b) = (Tenant(name: "a"), Tenant(name: "b"))

  /// The data directory, laid out as the service lays it out.
  let directory: String
  private let store: any Ledger
  private let engine: TransferEngine
  private let handler: HTTPHandler
  private let isStopped = Mutex(false)
  private let origin = TestOrigin(InProcessAPI.answer)

  /// The directories below which the tenants' downloads become files.
  let media: [Tenant: String]

  /// Answers with the request's path. The path names its tenant, and so does the response.
  private static let answer: TestOrigin.Handler = { request, socket in
    if request.path.hasPrefix("/redirect") {
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/")]))
    } else if request.path.hasPrefix("/half") {
      let head = "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\nETag: \"e\"\r\nAccept-Ranges: bytes\r\n\r\n"
      try socket.write(Array(head.utf8) + [UInt8](repeating: 0x61, count: 100_000))
      return false
    } else {
      try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }

  /// A worker's wakeups, which are accepted and ignored.
  private struct SilentWaker: Waker {
    func wake() -> Bool { true }
  }

  /// - Parameters:
  ///   - networks: The networks that tasks may reach in addition to the Internet.
  ///   - isTimeStill: Whether the clock is stopped, so that two tenants get identical answers at the same time.
  init(networks: [String] = ["127.0.0.0/8"], isTimeStill: Bool = false) throws {
    directory = TemporaryDirectory.make("ferry-api")
    media = Dictionary(
      uniqueKeysWithValues: [Tenant.default, Self.a].map {
        ($0, TemporaryDirectory.make("ferry-media-\($0.name)"))
      })
    let destinations = DirectoryDestinations(
      DestinationDirectories(media.map { .init(tenant: $0.key, path: $0.value) }), mode: 0o640,
      register: directory + "/destinations")
    let secret = SymmetricKey(size: .bits256)
    try secret.withUnsafeBytes { Data($0).base64EncodedString() }
      .write(toFile: directory + "/secret-key", atomically: false, encoding: .utf8)
    let secrets = [secret]
    let (hub, relay) = (EventHub(), FactCallback())
    store = CompositeLedger(
      try SQLiteLedger(path: directory + "/ferry.db", box: SecretBox(secrets: secrets)) { hub.publish($0) })
    let blobs = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try blobs.prepare()
    let start = Timestamp(microseconds: WallClock.microseconds())
    let now: @Sendable () -> Timestamp = {
      isTimeStill ? start : Timestamp(microseconds: WallClock.microseconds())
    }
    var settings = TransferEngine.Settings(
      egress: EgressPolicy(allowedNetworks: try networks.map { try #require(IPNetwork($0)) }),
      blobs: blobs, pool: ThreadPool(name: "test-write", threads: 1))
    settings.caches = CacheStorage(directory: directory + "/cache", pool: settings.pool, now: now)
    settings.destinations = destinations
    engine = try TransferEngine(workers: 1, settings: settings) { relay.deliver($0) }
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let service = TransferService(
      store: store, engine: engine, background: WorkerSessionRegistry(waker: SilentWaker()), relay: relay,
      hub: hub, blobs: blobs, destinations: destinations, box: SecretBox(secrets: secrets),
      answerTagger: AnswerDigester(secrets: secrets), egress: settings.egress,
      pool: ThreadPool(name: "test-read", threads: 1),
      now: now,
      logger: logger)
    _ = try blocking { try await service.recover() }
    let tokens = [.default, Self.a, Self.b].map { BearerToken(tenant: $0, text: "token-\($0.name)") }
    handler = TransferAPI(
      service: service, authenticator: ReloadableAuthenticator(RequestAuthenticator(tokens: tokens)),
      version: .init(number: "1"),
      reports: ServiceReports(
        settings: Array(#"{"settings":[{"name":"listen"}],"limits":[]}"#.utf8),
        limits: Array(#"{"settings":[],"limits":[]}"#.utf8),
        diskSpace: { DiskSpace(availableBytes: 1, totalBytes: 2) }),
      logger: logger
    ).handler()
  }

  func stop() async {
    isStopped.withLock { $0 = true }
    await engine.stop()
    await store.close()
  }

  /// Checks the journal of every test against the life cycles of tasks and sessions.
  deinit {
    let (engine, store) = (engine, store)
    if !isStopped.withLock(\.self) {
      try? blocking {
        await engine.stop()
        await store.close()
      }
      for fault in JournalReview(of: directory)?.faults ?? [] {
        Issue.record("The journal in \(directory) breaks a rule of URLSession: \(fault)")
      }
    }
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Returns whether a webhook message of a task is not delivered yet.
  func hasPendingMessage(of task: String) throws -> Bool {
    let id = try #require(TaskID(task))
    return try blocking { try await self.store.hasPendingDelivery(id) }
  }

  /// Writes the row of a suspended task whose time of creation is in the future.
  /// - Parameter seconds: the seconds from now.
  func storeTask(in session: String, createdAfter seconds: Double) throws -> String {
    let now = Timestamp(microseconds: WallClock.microseconds())
    let task = TransferTask(
      id: TaskID(at: now, random: (0, 1)), sessionID: try #require(SessionID(session)), taskIdentifier: 99,
      createdAt: now.adding(seconds: seconds),
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a.test/")))
    var change = LedgerChange()
    change.createdTasks = [task]
    let written = change
    try blocking { try await self.store.write(written) }
    return task.id.description
  }

  // MARK: Calls

  /// An answer, without the fields that differ each time.
  struct Answer: Equatable, CustomStringConvertible {
    var status: Int
    var fields: [String: String]
    var text: String
    var json: JSONValue { (try? JSONParser.parse(Array(text.utf8))) ?? .null }
    var description: String { "\(status) \(fields) \(text)" }

    func contains(anyOf words: some Sequence<String>) -> Bool {
      words.contains { word in text.contains(word) || fields.values.contains { $0.contains(word) } }
    }

    /// Returns the answer with each of the names replaced by its placeholder.
    func replacing(_ names: [String: String]) -> Answer {
      func replaced(_ text: String) -> String {
        names.reduce(text) { $0.replacing($1.value, with: "{\($1.key)}") }
      }
      var answer = Answer(status: status, fields: fields.mapValues(replaced), text: replaced(text))
      // The tag was computed from the original text.
      if answer.text != text { answer.fields["etag"] = nil }
      return answer
    }
  }

  struct Call {
    var method: String
    var target: String
    var body = ""
    var type: String?
    var key: String?
    var wait: Int?
  }

  private func respond(to call: Call, from tenant: Tenant) async -> ServerResponse {
    var fields = HTTPFields()
    fields[.authorization] = "Bearer token-\(tenant.name)"
    fields[.contentType] = call.type
    fields[.idempotencyKey] = call.key
    fields[.prefer] = call.wait.map { "wait=\($0)" }
    return await respond(to: call.method, call.target, Array(call.body.utf8), fields)
  }

  func respond(
    to method: String, _ target: String, _ body: [UInt8], _ fields: HTTPFields
  ) async -> ServerResponse {
    let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
    let head = HTTPRequest(
      method: .init(rawValue: method) ?? .get, scheme: "http", authority: "localhost", path: target,
      headerFields: fields)
    return await handler(
      ServerRequest(
        head: head, path: parts[0], query: parts.count > 1 ? parts[1] : "", body: RequestBody(body),
        localPort: 1))
  }

  /// Sends a request. Of an endless stream, the answer contains the head only.
  func send(_ call: Call, from tenant: Tenant) async throws -> Answer {
    let response = await respond(to: call, from: tenant)
    var fields: [String: String] = [:]
    for field in response.head.headerFields where field.name != .requestID {
      fields[field.name.canonicalName] = field.value
    }
    var bytes: [UInt8] = []
    switch response.body {
    case .empty: break
    case .bytes(let all): bytes = all
    case .source(let source, _):
      source.attach(ResponseWaker {})
      if !source.isEndless { bytes = try await Self.read(source) { _ in false } }
      source.close()
    }
    return Answer(
      status: response.head.status.code, fields: fields, text: String(decoding: bytes, as: UTF8.self))
  }

  /// Opens a stream of events.
  func open(_ target: String, from tenant: Tenant) async throws -> any ResponseSource {
    let response = await respond(to: Call(method: "GET", target: target), from: tenant)
    guard response.head.status == .ok, case .source(let source, _) = response.body else {
      throw Refused(status: response.head.status.code)
    }
    source.attach(ResponseWaker {})
    return source
  }

  struct Refused: Error { let status: Int }

  /// Reads to the end, or until `isEnough` returns true.
  static func read(
    _ source: any ResponseSource, until isEnough: (String) -> Bool
  ) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      switch source.read(maximum: 65_536) {
      case .bytes(let some):
        bytes += some
        if isEnough(String(decoding: bytes, as: UTF8.self)) { return bytes }
      case .wait: try await Task.sleep(for: .milliseconds(2))
      case .end: return bytes
      case .failed: throw Refused(status: 0)
      }
    }
  }

  // MARK: Resources of tenants

  /// The text that appears in every resource of a tenant.
  static func mark(_ tenant: Tenant) -> String { "mark-of-\(tenant.name)" }

  /// Returns everything that a tenant can see of itself and of these ids, and the number of requests that the origin
  /// received.
  func picture(of tenant: Tenant, _ ids: [String: String]) async throws -> [String: Answer] {
    var targets = ["/v1/sessions", "/v1/files", "/v1/configurations", "/v1/groups"]
    for session in [ids["session"], "ses_shared"].compactMap(\.self) {
      targets += ["", "/tasks", "/decisions", "/cookies", "/credentials", "/cache"].map {
        "/v1/sessions/\(session)\($0)"
      }
    }
    if let task = ids["task"] { targets += ["/v1/tasks/\(task)?include=body", "/v1/tasks/\(task)/metrics"] }
    targets += ids["decision"].map { ["/v1/decisions/\($0)"] } ?? []
    targets += ids["file"].map { ["/v1/files/\($0)"] } ?? []
    targets += ids["name"].map { ["/v1/configurations/\($0)"] } ?? []
    var picture: [String: Answer] = [:]
    for target in targets {
      picture[target] = try await send(Call(method: "GET", target: target), from: tenant)
    }
    let page = try await store.journal(.tenant(tenant), after: 0, maximumBytes: 1 << 24)
    #expect(page.isLast)
    picture["events"] = Answer(
      status: 0, fields: [:], text: String(decoding: page.fragments.flatMap(\.bytes), as: UTF8.self))
    picture["requests"] = Answer(status: origin.requests.count, fields: [:], text: "")
    return picture
  }

  /// A kind of resource that a tenant may own.
  enum Resource: CaseIterable {
    case session, invalidSession, suspendedTask, finishedTask, partialDownload, streamingTask, decision, file,
      configuration, delivery, group
  }

  func url(_ path: String, of tenant: Tenant) -> String { "\(origin.url)\(path)?\(Self.mark(tenant))" }

  /// Creates a resource, and waits until it no longer changes by itself.
  /// - Returns: The values of the `{names}` in paths.
  func make(_ thing: Resource, of tenant: Tenant) async throws -> [String: String] {
    let mark = Self.mark(tenant)
    switch thing {
    case .file:
      return ["file": try await post("/v1/files", "", of: tenant, type: "text/\(mark)", "id")]
    case .configuration:
      return [
        "name": try await post(
          "/v1/configurations", #"{"name":"\#(mark)","configuration":{}}"#, of: tenant, "name")
      ]
    case .delivery:
      let endpoint = try await post(
        "/v1/webhooks/endpoints", #"{"url":"http://a.test/\#(mark)"}"#, of: tenant, "id")
      let delivery = try await post("/v1/webhooks/endpoints/\(endpoint)/test", "{}", of: tenant, "id")
      return ["endpoint": endpoint, "delivery": delivery]
    case .group:
      _ = try await post(
        "/v1/tasks", #"{"kind":"data","group":"\#(mark)","request":{"url":"\#(url("/", of: tenant))"}}"#,
        of: tenant, "id")
      return ["group": mark]
    default: break
    }
    let delegate = thing == .decision ? #"{"redirects":"ask","decisionTimeout":3000}"# : "{}"
    let session = try await post(
      "/v1/sessions", #"{"description":"\#(mark)","delegate":\#(delegate)}"#, of: tenant, "id")
    var ids = ["session": session]
    switch thing {
    case .invalidSession: _ = try await post("/v1/sessions/\(session)/invalidate", "{}", of: tenant, "id")
    case .session: try await fill(session, of: tenant)
    case .suspendedTask: ids["task"] = try await task(in: session, "/", of: tenant, resume: false)
    case .finishedTask: ids["task"] = try await task(in: session, "/", of: tenant)
    case .partialDownload:
      ids["task"] = try await task(in: session, "/half", of: tenant, kind: "download")
    case .streamingTask, .decision:
      let isStream = thing == .streamingTask
      ids["task"] = try await task(
        in: session, isStream ? "/" : "/redirect", of: tenant, kind: isStream ? "upload" : "data",
        waits: false)
      ids["decision"] = try await decision(of: session, tenant)
    case .file, .configuration, .delivery, .group: break
    }
    return ids
  }

  /// Adds a cookie, a credential and a suspended task to a session.
  func fill(_ session: String, of tenant: Tenant) async throws {
    let (mark, path) = (Self.mark(tenant), "/v1/sessions/\(session)")
    for (kind, body) in [
      ("cookies", #"{"name":"n","value":"\#(mark)","domain":"a.test","path":"/"}"#),
      (
        "credentials",
        #"{"protectionSpace":{"host":"a.test","port":80,"protocol":"http"},"credential":{"user":"\#(mark)","password":"p"}}"#
      ),
    ] {
      let call = Call(method: "PUT", target: "\(path)/\(kind)", body: body, type: "application/json")
      #expect(try await send(call, from: tenant).status == 200)
    }
    _ = try await task(in: session, "/", of: tenant, resume: false)
  }

  private func post(
    _ target: String, _ body: String, of tenant: Tenant, type: String = "application/json",
    wait: Int? = nil, _ member: String
  ) async throws -> String {
    let call = Call(method: "POST", target: target, body: body, type: type, wait: wait)
    let answer = try await send(call, from: tenant)
    return try #require(answer.json[member]?.string, "\(answer)")
  }

  private func task(
    in session: String, _ path: String, of tenant: Tenant, kind: String = "data", resume: Bool = true,
    waits: Bool = true
  ) async throws -> String {
    let body = kind == "upload" ? #","body":{"stream":true}"# : ""
    return try await post(
      "/v1/sessions/\(session)/tasks",
      #"{"kind":"\#(kind)","resume":\#(resume),"request":{"url":"\#(url(path, of: tenant))"\#(body)}}"#,
      of: tenant,
      wait: resume && waits ? 60 : nil, "id")
  }

  /// Returns the decision that a task of the session waits for.
  private func decision(of session: String, _ tenant: Tenant) async throws -> String {
    while true {
      let call = Call(method: "GET", target: "/v1/sessions/\(session)/decisions?state=pending")
      let pending = try await send(call, from: tenant).json["items"]?.elements ?? []
      if let id = pending.first?["id"]?.string { return id }
      try await Task.sleep(for: .milliseconds(2))
    }
  }
}
