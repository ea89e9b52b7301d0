import HTTPCookies
import Ledger
import Records
import Testing
import TransferModel

/// The contract for session data, the deletion of sessions, and queries.
struct SessionRecordsConformance {
  static let cases: [ConformanceCase] = [
    .init("replacedCookieKeepsItsPosition") { try await Self().replacedCookieKeepsItsPosition($0) },
    .init("protectionSpaceHasOneCredential") { try await Self().protectionSpaceHasOneCredential($0) },
    .init("configurationsAreListedByName") { try await Self().configurationsAreListedByName($0) },
    .init("newReplyDeletesExpiredReplies") { try await Self().newReplyDeletesExpiredReplies($0) },
    .init("taskQueriesFilterByKindAndState") { try await Self().taskQueriesFilterByKindAndState($0) },
    .init("lastTaskIdentifierOnlyGrows") { try await Self().lastTaskIdentifierOnlyGrows($0) },
    .init("backgroundDecisionsAreNotWithdrawn") { try await Self().backgroundDecisionsAreNotWithdrawn($0) },
    .init("cursorInsideAFragmentReturnsTheWholeFragment") {
      try await Self().cursorInsideAFragmentReturnsTheWholeFragment($0)
    },
    .init("workIsReadInPages") { try await Self().workIsReadInPages($0) },
    .init("deliveryIsPendingUntilSettled") { try await Self().deliveryIsPendingUntilSettled($0) },
  ]

  private static let time = LedgerBench.time
  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { LedgerBench.id(number) }

  private static func session(_ number: UInt64, _ type: SessionType = .default) -> TransferSession {
    TransferSession(
      id: id(number), type: type, createdAt: time, description: nil, configuration: SessionConfiguration(),
      delegate: nil, identifier: type == .background ? "a" : nil)
  }

  private static func task(
    _ number: UInt64, in session: SessionID = .shared, _ kind: TaskKind = .data,
    body: RequestContent? = nil
  ) -> TransferTask {
    TransferTask(
      id: id(number), sessionID: session, taskIdentifier: Int(number), createdAt: time,
      specification: TaskSpecification(kind: kind, request: TransferRequest(url: "http://a/", body: body)))
  }

  private static func cookie(_ name: String, _ value: String = "v") -> Cookie {
    Cookie(
      name: name, value: value, domain: "a.test", isHostOnly: true, path: "/", expiresDate: time,
      isSecure: true, isHTTPOnly: false, sameSite: nil, created: time, lastAccess: time)
  }

  private static func reply(_ key: String, _ second: Double = 0) -> IdempotentReply {
    IdempotentReply(
      key: LedgerBench.key(key), digest: [1], status: 201, contentType: "a/b", location: nil, body: [1],
      createdAt: time.adding(seconds: second))
  }

  func replacedCookieKeepsItsPosition(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let session: SessionID = Self.id(1)
    func names() async throws -> [String] {
      try await store.storage(of: session).cookies.map { $0.name + $0.value }
    }
    try await store.write { change in
      change.cookies = ["a", "b", "c"].map { (session, .stored(Self.cookie($0))) }
    }
    try await store.write { $0.cookies = [(session, .stored(Self.cookie("a", "w")))] }
    #expect(try await names() == ["aw", "bv", "cv"])
    try await store.write { change in
      change.cookies = [(session, .removed(Self.cookie("a").key)), (session, .stored(Self.cookie("a")))]
    }
    #expect(try await names() == ["bv", "cv", "av"])
    try await store.write { $0.cookies = [(Self.id(2), .stored(Self.cookie("d")))] }
    #expect(try await names() == ["bv", "cv", "av"], "another session's cookies are not listed")
    #expect(try await store.sessionsWithStorage() == [session, Self.id(2)])
    try await store.write { $0.deletedSession = session }
    #expect(try await names() == [])
    #expect(try await store.sessionsWithStorage() == [Self.id(2)])
    await store.close()
  }

  func protectionSpaceHasOneCredential(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    func credential(_ session: UInt64, _ realm: String, _ user: String) -> StoredCredential {
      let space = ProtectionSpace(host: "a.test", port: 80, protocolName: "http", realm: realm)
      return StoredCredential(
        session: Self.id(session), space: space,
        credential: Credential(user: user, password: "p", persistence: .permanent))
    }
    try await store.write { change in
      change.credentials = [credential(2, "r", "a"), credential(1, "s", "b"), credential(1, "r", "c")]
    }
    try await store.write { $0.credentials = [credential(1, "s", "d")] }
    #expect(
      try await store.storage(of: Self.id(1)).credentials == [
        credential(1, "r", "c"), credential(1, "s", "d"),
      ])
    #expect(try await store.storage(of: Self.id(2)).credentials == [credential(2, "r", "a")])
    #expect(try await store.sessionsWithStorage() == [Self.id(1), Self.id(2)])
    try await store.write { change in
      change.deletedCredentials = [(Self.id(1), credential(1, "r", "c").space)]
      change.deletedSession = Self.id(2)
    }
    #expect(try await store.storage(of: Self.id(1)).credentials == [credential(1, "s", "d")])
    #expect(try await store.sessionsWithStorage() == [Self.id(1)])
    await store.close()
  }

  func configurationsAreListedByName(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    func named(_ name: String, created: Double = 0, updated: Double = 0, _ seconds: Double)
      -> NamedConfiguration
    {
      var configuration = SessionConfiguration()
      configuration.timeoutIntervalForRequest = seconds
      return NamedConfiguration(
        name: LedgerBench.name(name), configuration: configuration,
        createdAt: Self.time.adding(seconds: created),
        updatedAt: Self.time.adding(seconds: updated))
    }
    try await store.write { $0.configurations = [named("b", 1), named("B", 2), named("a", 3)] }
    try await store.write { $0.configurations = [named("a", created: 9, updated: 9, 4)] }
    #expect(try await store.configuration(LedgerBench.name("a")) == named("a", updated: 9, 4))
    #expect(
      try await store.configurations(of: .default, after: nil, limit: 9).map(\.name.text) == ["B", "a", "b"])
    #expect(try await store.configurations(of: .default, after: "B", limit: 1).map(\.name.text) == ["a"])
    try await store.write { $0.deletedConfigurations = [LedgerBench.name("a")] }
    #expect(try await store.configuration(LedgerBench.name("a")) == nil)
    // Another tenant's configurations may have the same names.
    let other = ConfigurationName(tenant: Tenant(name: "t"), text: "b")
    #expect(try await store.configuration(other) == nil)
    #expect(try await store.configurations(of: other.tenant, after: nil, limit: 9).isEmpty)
    await store.close()
  }

  func newReplyDeletesExpiredReplies(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    for reply in [Self.reply("a"), Self.reply("b", 10)] {
      try await store.write { $0.replaceReply(reply, about: nil) }
    }
    try await store.write { $0.replaceReply(Self.reply("c", 5 + IdempotentReply.retention), about: nil) }
    #expect(try await store.reply(under: LedgerBench.key("a")) == nil)
    #expect(try await store.reply(under: LedgerBench.key("b")) == Self.reply("b", 10))
    try await store.write { $0.replaceReply(Self.reply("b", 20), about: nil) }
    #expect(try await store.reply(under: LedgerBench.key("b")) == Self.reply("b", 20))
    #expect(
      try await store.idempotentReply(LedgerBench.key("b"), to: [2])
        == .other(createdAt: Self.reply("b", 20).createdAt))
    await store.close()
  }

  func taskQueriesFilterByKindAndState(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    var tasks = (1...4).map { Self.task($0, $0 == 2 ? .upload : .data) }
    let other = Self.task(9, in: Self.id(7))
    try await store.write { $0.createdTasks = tasks + [other] }
    _ = tasks[0].lifecycle.resume()
    _ = tasks[3].lifecycle.complete()
    tasks[3].body = TaskBody(size: 9, sha256: "", expiresAt: Self.time)
    try await store.write { $0.updatedTasks = [tasks[0], tasks[3]] }
    func ids(_ query: TaskQuery) async throws -> [TaskID] { try await store.tasks(query).map(\.id) }
    #expect(try await ids(TaskQuery(session: .shared, limit: 9)) == tasks.map(\.id))
    #expect(try await ids(TaskQuery(session: .shared, kind: .upload, limit: 9)) == [tasks[1].id])
    #expect(try await ids(TaskQuery(session: .shared, state: .running, limit: 9)) == [tasks[0].id])
    #expect(
      try await ids(TaskQuery(session: .shared, after: tasks[0].id, limit: 2)) == [tasks[1].id, tasks[2].id])
    #expect(
      try await store.unfinishedTasks(after: tasks[0], limit: 9).map(\.id) == [
        tasks[1].id, tasks[2].id, other.id,
      ])
    #expect(try await store.bodyFiles(of: .shared) == [tasks[3].id])
    #expect(try await store.bodyFiles(among: tasks.map(\.id)) == [tasks[3].id])
    #expect(try await store.hasBodyFile(tasks[3].id))
    #expect(try await store.hasBodyFile(tasks[0].id) == false)
    #expect(try await store.hasTasks(.shared))
    #expect(try await store.hasTasks(Self.id(8)) == false)
    await store.close()
  }

  func lastTaskIdentifierOnlyGrows(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let session = Self.session(1)
    for (identifier, expected) in [(5, 5), (3, 5), (6, 6)] {
      try await store.write { change in
        change.sessions = [session]
        change.lastIdentifiers = [session.id: identifier, Self.id(2): 9]
      }
      #expect(try await store.sessions().map(\.lastIdentifier) == [expected])
    }
    await store.close()
  }

  /// Decisions of background sessions stay pending, because the worker still waits for their answers.
  func backgroundDecisionsAreNotWithdrawn(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let sessions = [Self.session(1), Self.session(2, .background)]
    let decisions = sessions.map { session in
      Decision(
        id: DecisionID(high: 1, low: session.id.low), type: .taskDidReceiveChallenge, sessionID: session.id,
        taskID: Self.id(3), createdAt: Self.time, expiresAt: Self.time, defaultAnswer: "x", arguments: [])
    }
    try await store.write { change in
      change.sessions = sessions
      change.newDecisions = decisions
    }
    try await store.write { $0.ownership = .joins(address: "") }
    try await store.write { $0.ownership = .takesOver([]) }
    #expect(try await store.decision(decisions[0].id)?.state == .withdrawn)
    #expect(try await store.decision(decisions[1].id)?.state == .pending)
    await store.close()
  }

  func cursorInsideAFragmentReturnsTheWholeFragment(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    func event(_ task: UInt64) -> TransferEvent {
      TransferEvent(
        .taskDidChangeState, at: Self.time, session: .shared, task: Self.id(task),
        .stateChanged(.running, nil))
    }
    try await store.write { change in
      change.sessions = [.shared(.shared, of: .default)]
      change.events = [event(1), event(1), event(1), event(2), event(1)]
    }
    func firsts(_ scope: EventScope, after: Int64, _ bytes: Int = 1 << 20) async throws -> [Int64] {
      try await store.journal(scope, after: after, maximumBytes: bytes).fragments.map(\.first)
    }
    #expect(try await firsts(.tenant(.default), after: 0) == [1, 4, 5])
    #expect(try await firsts(.tenant(.default), after: 2) == [1, 4, 5])
    #expect(try await firsts(.tenant(.default), after: 3) == [4, 5])
    #expect(try await firsts(.task(Self.id(1)), after: 1) == [1, 5])
    #expect(try await firsts(.tenant(.default), after: 0, 1) == [1])
    let page = try await store.journal(.task(Self.id(2)), after: 0, maximumBytes: 1 << 20)
    #expect(page.coveredSequence == 5 && page.isLast && page.oldest == 1)
    await store.close()
  }

  func workIsReadInPages(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    let work = (1...3).map { StoredWork(task: Self.id($0), session: Self.id(1), document: "\($0)") }
    #expect(try await store.lastWorkerReport() == nil)
    try await store.write { change in
      change.work = work
      change.workerReports = ["a", "b"]
    }
    #expect(try await store.work(after: work[0].task, limit: 1) == [work[1]])
    #expect(try await store.work(after: nil, limit: 9) == work)
    #expect(try await store.lastWorkerReport() == 2)
    await store.close()
  }

  func deliveryIsPendingUntilSettled(_ kind: LedgerKind) async throws {
    let store = try LedgerBench(kind).open()
    var delivery = WebhookDelivery.sample(
      id: Self.id(1), sessionID: .shared, taskID: Self.id(2), createdAt: Self.time)
    try await store.write { [delivery] in $0.newDeliveries = [delivery] }
    #expect(try await store.hasPendingDelivery(Self.id(2)))
    delivery.finish(.delivered, at: Self.time)
    try await store.write { [delivery] in $0.updatedDeliveries = [delivery] }
    #expect(try await store.hasPendingDelivery(Self.id(2)) == false)
    await store.close()
  }
}
