internal import Cluster
internal import Ledger
internal import TransferCore
internal import TransferModel
internal import TransferService

/// The creation of sessions and tasks, and the replies to clients.
extension SimulatedWorld {
  static let tenants = [Tenant.default, Tenant(name: "other")]
  private static let mostSessions = 6

  func tenant(_ luck: inout RandomSource) -> Tenant { Self.tenants[luck.below(plan.kinds.tenants)] }

  /// Returns a session that is not deleted.
  func pickSession(_ luck: inout RandomSource) -> CommitHistory.SessionStory? {
    let known = chronicle.sessionOrder.filter {
      chronicle.sessions[$0]?.isDeleted == false && !$0.isShared
    }
    return luck.pick(known).flatMap { chronicle.sessions[$0] }
  }

  /// Returns an existing task, preferably an unfinished one.
  func pickTask(_ luck: inout RandomSource) -> CommitHistory.TaskStory? {
    guard !chronicle.taskOrder.isEmpty else { return nil }
    var found: CommitHistory.TaskStory?
    for _ in 0..<4 {
      found = chronicle.tasks[chronicle.taskOrder[luck.below(chronicle.taskOrder.count)]]
      if found?.isOver == false { return found }
    }
    return found
  }

  func tenant(of session: SessionID) -> Tenant { chronicle.sessions[session]?.session.tenant ?? .default }

  // MARK: Calls

  /// Whether at least one service answers clients.
  var mayCall: Bool { services.contains(where: \.answers) }

  func createSession(_ luck: inout RandomSource) {
    let count = chronicle.sessions.values.count { !$0.isDeleted && !$0.session.id.isShared }
    guard count < Self.mostSessions else { return }
    // The first session must exist, because a world without any session tests nothing.
    let isFirst = count == 0
    if isFirst { goOn(&luck) { _ in mayCall } }
    defer { if isFirst { goOn(&luck) { pickSession(&$0) != nil } } }
    let tenant = tenant(&luck)
    var specification = SessionSpecification()
    switch plan.kinds.sessionTypes[luck.below(plan.kinds.sessionTypes.count)] {
    case 1: specification.type = .ephemeral
    case 2:
      specification.type = .background
      specification.identifier = ["a", "b"][luck.below(2)]
    default: break
    }
    specification.configuration.waitsForConnectivity = luck.chance(400)
    specification.configuration.httpMaximumConnectionsPerHost = plan.kinds.connections
    if plan.kinds.retries, luck.chance(700) {
      var retry = RetryConfiguration()
      retry.maximumAttempts = 1 + luck.below(4)
      specification.configuration.retry = retry
    }
    if plan.kinds.asks || plan.kinds.hasWebhooks { specification.delegate = delegate(&luck) }
    // In every fourth world, a session without a running task becomes an outline.
    if plan.seed.isMultiple(of: 4) { specification.description = String(repeating: "x", count: 5000) }
    let wanted = specification
    let chronicle = chronicle
    callForSession(tenant, wanted) { [self] result in
      guard case .success(let session) = result else { return }
      acknowledged.sessions[session.id] = tenant
      guard chronicle.sessions[session.id] == nil else { return }
      chronicle.violate(.toldBehindTheCommit, "a reply shows a session that is not committed")
    }
  }

  private func delegate(_ luck: inout RandomSource) -> SessionDelegate {
    var delegate = SessionDelegate()
    if plan.kinds.asks {
      let questions = plan.kinds.questions
      if luck.chance(questions.challenges) { delegate.taskChallenges = .ask }
      if luck.chance(questions.handshakes) { delegate.sessionChallenges = luck.chance(800) ? .ask : .default }
      delegate.asksForRedirects = luck.chance(questions.redirects)
      delegate.asksForResponses = luck.chance(questions.responses)
      delegate.asksForCaching = luck.chance(questions.caching)
      delegate.asksForDelayedRequests = luck.chance(questions.delayedRequests)
      delegate.decisionTimeout = Double(5 + luck.below(luck.chance(300) ? 3000 : 120))
    }
    if plan.kinds.hasWebhooks {
      delegate.webhook = Webhook(url: "http://hook.test/", secret: nil)
      delegate.events = [.taskDidComplete]
      if luck.chance(300) {
        delegate.events += [.taskDidCreate, .taskDidChangeState, .sessionDidFinishEvents]
      }
      delegate.webhookAnswers = luck.chance(500)
    }
    return delegate
  }

  private func specification(_ session: TransferSession, _ luck: inout RandomSource) -> TaskSpecification {
    let isElsewhere = session.type == .background
    let kinds: [TaskKind] = isElsewhere ? [.download, .upload] : [.data, .download, .upload]
    let kind = kinds[luck.below(kinds.count)]
    let isPost = kind == .upload || luck.chance(plan.kinds.posts)
    var request = TransferRequest(
      url: "http://origin.test/\(luck.below(100))", method: isPost && luck.chance(700) ? "POST" : "GET")
    if kind == .upload {
      request.method = luck.chance(700) ? "POST" : "PUT"
      let mayStream = !isElsewhere && session.delegate != nil
      request.body = mayStream && luck.chance(plan.kinds.streams) ? .stream : .data([1, 2, 3])
    }
    var specification = TaskSpecification(kind: kind, request: request)
    if kind == .download, luck.chance(plan.kinds.resumes), let story = luck.pick(partialDownloads(session)) {
      specification.request = story.row.originalRequest
      specification.resumePoint = story.row.partial
    }
    if plan.kinds.retries, specification.request.body?.isStream != true, luck.chance(300) {
      specification.preferences.retry = RetryConfiguration()
      specification.preferences.retry?.maximumAttempts = 1 + luck.below(4)
    }
    specification.resume = !luck.chance(plan.kinds.suspended)
    if plan.kinds.groups > 0, session.type != .ephemeral, luck.chance(plan.kinds.groups) {
      specification.preferences.group = "group \(luck.below(3))"
    }
    if kind == .download, plan.kinds.destinations > 0, luck.chance(plan.kinds.destinations) {
      specification.preferences.destination = destination(&luck)
    }
    if luck.chance(plan.kinds.delayed) {
      // Some dates have passed, or are near.
      let most = luck.chance(500) ? 20 : 600
      specification.earliestBeginDate = clock.now.adding(seconds: Double(luck.below(most) - 5))
    }
    return specification
  }

  /// Returns the ended downloads that left a partial body.
  private func partialDownloads(_ session: TransferSession) -> [CommitHistory.TaskStory] {
    chronicle.taskOrder.compactMap { chronicle.tasks[$0] }.filter { story in
      story.isOver && story.row.partial?.download != nil && tenant(of: story.session) == session.tenant
    }
  }

  /// Closes one of the groups that have tasks.
  private func closeGroup(_ luck: inout RandomSource) {
    let grouped = chronicle.taskOrder.compactMap { chronicle.tasks[$0] }.filter { $0.row.group != nil }
    guard let story = luck.pick(grouped), let name = story.row.group else { return }
    let tenant = tenant(of: story.session)
    call(tenant, about: .session(story.session)) { view, _ in
      try await view.closeGroup(name)
    } then: { [self] result in
      guard case .success(let closed) = result else { return }
      if closed.group.state == .open || chronicle.groups[closed.group.key]?.isClosed != true {
        chronicle.violate(.toldBehindTheCommit, "the reply shows a closed group that is not committed")
      }
    }
  }

  func createTasks(_ count: Int, in known: SessionID? = nil, _ luck: inout RandomSource) {
    if plan.kinds.groups > 0, luck.chance(150) { closeGroup(&luck) }
    if plan.kinds.endpoints > 0, luck.chance(plan.kinds.endpoints) { useEndpoints(&luck) }
    let story = known.flatMap { chronicle.sessions[$0] } ?? pickSession(&luck)
    guard let session = story?.session else { return createSession(&luck) }
    let wanted = (0..<count).map { _ in specification(session, &luck) }
    call(session.tenant, about: .session(session.id)) { view, _ in
      try await view.createTasks(wanted, in: view.session(session.id))
    } then: { [self] result in
      if case .success(let tasks) = result { accept(tasks, session.tenant) }
    }
  }

  static let largeURL = "http://origin.test/large"

  func createDownload(in session: TransferSession) {
    var specification = TaskSpecification(
      kind: .download, request: TransferRequest(url: Self.largeURL, method: "GET"))
    specification.resume = true
    let wanted = specification
    call(session.tenant, about: .session(session.id)) { view, _ in
      try await view.createTasks([wanted], in: view.session(session.id))
    } then: { [self] result in
      if case .success(let tasks) = result { accept(tasks, session.tenant) }
    }
  }

  private func accept(_ tasks: [TransferTask], _ tenant: Tenant) {
    for task in tasks {
      acknowledged.tasks[task.id] = tenant
      guard chronicle.tasks[task.id] == nil, !isGone(task.sessionID) else { continue }
      chronicle.violate(.toldBehindTheCommit, "a reply shows a task that is not committed")
    }
  }

  func isGone(_ session: SessionID) -> Bool { chronicle.sessions[session]?.isBeingDeleted ?? false }

  // MARK: Idempotency-Keys

  func createUnderKey(_ luck: inout RandomSource) {
    let known = luck.chance(600) ? luck.pick(Array(acknowledged.keys.indices)) : nil
    let index: Int
    if let known {
      index = known
    } else {
      guard let session = pickSession(&luck)?.session else { return }
      let key = IdempotencyKey(tenant: session.tenant, text: "key-\(acknowledged.keys.count)")
      index = acknowledged.keys.count
      acknowledged.keys.append(.init(key: key, session: session.id))
    }
    let use = acknowledged.keys[index]
    guard let session = chronicle.sessions[use.session]?.session, !isGone(use.session) else { return }
    let wanted = specification(session, &luck)
    call(session.tenant, about: .session(session.id)) { view, node -> [UInt8] in
      let service = node.process.service
      let digest = [UInt8](use.key.text.utf8)
      if case .replay(let reply) = try await service.idempotency.admit(use.key, digest: digest) {
        return reply.body
      }
      defer { service.idempotency.release(use.key) }
      let time = service.identifiers.now()
      let tasks = try await view.createTasks([wanted], in: view.session(use.session)) { tasks in
        IdempotentReply(
          key: use.key, digest: digest, status: 201, contentType: "application/json", location: nil,
          body: Array("\(tasks[0].id)".utf8), createdAt: time)
      }
      return Array("\(tasks[0].id)".utf8)
    } then: { [self] result in
      if case .success(let body) = result { check(body, under: index) }
    }
  }

  private func check(_ body: [UInt8], under index: Int) {
    let use = acknowledged.keys[index]
    guard !isGone(use.session) else { return }
    if let id = TaskID(String(decoding: body, as: UTF8.self)) {
      acknowledged.tasks[id] = tenant(of: use.session)
      if chronicle.tasks[id] == nil {
        chronicle.violate(
          .toldBehindTheCommit, "a reply with an Idempotency-Key shows a task that is not committed")
      }
    }
    // A reply is kept for a day of wall-clock time. The check is skipped if the clock was set.
    if let reply = use.reply, !clock.wasSet, reply != body, let time = use.madeAt,
      clock.now.since(time) < 80_000
    {
      chronicle.violate(.repeatsAreKnown, "a repeated request with \(use.key.text) got a different reply")
    }
    acknowledged.keys[index].reply = body
    acknowledged.keys[index].madeAt = chronicle.replies[use.key]?.createdAt
    // After a change of the clock, the expiry of the reply is unknown.
    if clock.wasSet { acknowledged.keys[index].reply = nil }
  }
}
