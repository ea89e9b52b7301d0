internal import Cluster
internal import JSON
internal import Ledger
internal import TransferCore
internal import TransferModel
internal import TransferService

/// The commands and reads of clients.
extension SimulatedWorld {
  /// Sends a command about a task.
  private func verb(
    _ id: TaskID, _ name: String, _ body: @escaping @Sendable (TenantView) async throws -> TransferTask
  ) {
    guard let session = chronicle.tasks[id]?.session, mayCall else { return }
    call(tenant(of: session), about: .task(id), { view, _ in try await body(view) }) { [self] in
      took($0, id, name)
    }
  }

  /// Checks the reply to a command: the state that it shows must be committed.
  private func took(_ result: Result<TransferTask, any Error>, _ id: TaskID, _ verb: String) {
    switch result {
    case .success(let task):
      guard let story = chronicle.tasks[id], !isGone(story.session) else { return }
      if !story.hasBeen.contains(task.state) {
        chronicle.violate(
          .toldBehindTheCommit,
          "the reply to \(verb) of \(chronicle.name(id)) shows \(task.state), which is not committed")
      }
      if verb == "cancel", task.state == .canceling, story.hasBeen.contains(.canceling) {
        acknowledged.cancelled.insert(id)
      }
    case .failure(ServiceError.taskNotFound): missing(id, verb)
    case .failure: break
    }
  }

  private func missing(_ id: TaskID, _ verb: String) {
    guard let story = chronicle.tasks[id], !isGone(story.session), !chronicle.isForgotten(story.session)
    else { return }
    chronicle.violate(.acceptedIsKept, "\(verb): \(chronicle.name(id)) is not found")
  }

  func resume(_ luck: inout RandomSource) {
    if let story = pickTask(&luck) { resume(story.id) }
  }

  func resume(_ id: TaskID) { verb(id, "resume") { try await $0.resume(id) } }

  func suspend(_ luck: inout RandomSource) {
    if let story = pickTask(&luck) { suspend(story.id) }
  }

  func suspend(_ id: TaskID) { verb(id, "suspend") { try await $0.suspend(id) } }

  func cancel(_ luck: inout RandomSource) {
    if let story = pickTask(&luck) { cancel(story.id) }
  }

  func cancel(_ id: TaskID) { verb(id, "cancel") { try await $0.cancel(id) } }

  func cancelForResumeData(_ luck: inout RandomSource) {
    guard let story = pickTask(&luck), story.kind == .download else { return }
    let id = story.id
    verb(id, "cancelProducingResumeData") { try await $0.cancelProducingResumeData(id).task }
  }

  func patch(_ luck: inout RandomSource) {
    guard let story = pickTask(&luck), !story.isOver else { return }
    let id = story.id
    // A download inherits the description of the data task that it replaced.
    let inherited = story.row.description.flatMap { Int($0) } ?? 0
    var known = acknowledged.patches[id] ?? .init(last: inherited)
    guard !known.isUnderWay else { return }
    known.last += 1
    known.isUnderWay = mayCall
    acknowledged.patches[id] = known
    let number = known.last
    var patch = TaskPatch()
    patch.description = "\(number)"
    if luck.chance(400) { patch.priority = luck.fraction() }
    if luck.chance(200) {
      patch.earliestBeginDate = clock.now.adding(seconds: Double(luck.below(400)))
    }
    let request = number.isMultiple(of: 2) ? RequestPatch(url: CommitHistory.changedURL(number)) : nil
    let wanted = patch
    call(
      tenant(of: story.session), about: .task(id),
      { view, _ in try await view.patch(id, wanted, request) { _ in true } },
      lost: { [self] in acknowledged.patches[id]?.isUnderWay = false }
    ) { [self] result in
      acknowledged.patches[id]?.isUnderWay = false
      guard case .success(let task) = result, !isGone(task.sessionID) else { return }
      if task.description == wanted.description ?? nil { acknowledged.patches[id]?.known = number }
      if request != nil { chronicle.noteChange(number, of: id) }
      checkPatch(task)
    }
  }

  /// Checks that an acknowledged change, or a later one, is in the task.
  func checkPatch(_ task: TransferTask) {
    guard let patch = acknowledged.patches[task.id], !isGone(task.sessionID) else { return }
    let found = task.description.flatMap { Int($0) } ?? 0
    guard found < patch.known || found > patch.last else { return }
    chronicle.violate(.patchesStay, "\(chronicle.name(task.id)) has \(found) instead of \(patch.known)")
  }

  func invalidate(_ luck: inout RandomSource) {
    guard let story = pickSession(&luck) else { return }
    invalidate(story.session.id, luck.chance(500) ? .cancelTasks : .finishTasks)
  }

  func invalidate(_ id: SessionID, _ mode: InvalidationMode) {
    guard mayCall else { return }
    call(tenant(of: id), about: .session(id)) { view, _ in
      try await view.invalidate(id, mode)
    } then: { [self] result in
      guard case .success(let session) = result, !isGone(id) else { return }
      if session.state != .active, chronicle.sessions[id]?.session.state == .active {
        chronicle.violate(
          .toldBehindTheCommit, "a reply shows a session as \(session.state), which is not committed")
      }
    }
  }

  func deleteSession(_ luck: inout RandomSource) {
    guard let story = pickSession(&luck) else { return }
    let id = story.session.id
    call(tenant(of: id), about: .session(id)) { view, _ in
      try await view.deleteSession(id)
    } then: { [self] result in
      guard case .success = result else { return }
      acknowledged.deleted.insert(id)
      if chronicle.sessions[id]?.isDeleted == false {
        chronicle.violate(.toldBehindTheCommit, "a session was reported as deleted, but still exists")
      }
    }
  }

  func reset(_ luck: inout RandomSource, flushes: Bool) {
    guard let story = pickSession(&luck) else { return }
    let id = story.session.id
    call(tenant(of: id), about: .session(id)) { view, _ in
      _ = flushes ? try await view.flush(id) : try await view.reset(id)
    } then: { _ in
    }
  }

  // MARK: Reads

  func waitForEnd(_ luck: inout RandomSource) {
    guard let story = pickTask(&luck) else { return }
    let seconds = Double(1 + luck.below(60))
    let (id, begun) = (story.id, clock.uptime)
    call(tenant(of: story.session), about: .task(id)) { view, node in
      _ = try await view.waitPatientlyForEnd(of: id, seconds: seconds)
      return node
    } then: { [self] result in
      guard case .success(let node) = result, let story = chronicle.tasks[id], !isGone(story.session) else {
        return
      }
      let isLate = clock.uptime - begun >= .seconds(seconds)
      guard !story.isOver, !isLate, !node.process.service.isLeaving, !chronicle.hasBeenShared else { return }
      chronicle.violate(
        .toldBehindTheCommit, "a client that waits for \(chronicle.name(id)) got a reply before its end")
    }
  }

  func look(_ luck: inout RandomSource) {
    guard let story = pickTask(&luck) else { return }
    look(story.id)
  }

  func look(_ id: TaskID) {
    guard let session = chronicle.tasks[id]?.session else { return }
    call(tenant(of: session), about: .task(id)) { view, _ in
      try await view.task(id)
    } then: { [self] result in
      switch result {
      case .success(let task):
        checkPatch(task)
        guard task.state == .completed, let story = chronicle.tasks[id], !story.isOver else { return }
        chronicle.violate(
          .toldBehindTheCommit, "a reply shows \(chronicle.name(id)) as completed, which is not committed")
      case .failure(ServiceError.taskNotFound): missing(id, "look")
      case .failure: break
      }
    }
  }

  /// Tries to access another tenant's task or session.
  func peek(_ luck: inout RandomSource) {
    guard let story = pickTask(&luck) else { return }
    let own = tenant(of: story.session)
    guard let other = Self.tenants.first(where: { $0 != own }) else { return }
    let verb = luck.below(5)
    let subject: RequestSubject = verb < 2 || verb > 3 ? .task(story.id) : .session(story.session)
    call(other, about: subject) { view, _ in
      switch verb {
      case 0: _ = try await view.task(story.id)
      case 1: _ = try await view.cancel(story.id)
      case 2: _ = try view.session(story.session)
      case 3:
        _ = try await view.decisions(of: story.session, state: nil, after: nil, order: .oldest, limit: 10)
      default:
        _ = try await view.events(
          ofTask: story.id, EventFilter(after: 0, types: nil, wantsProgress: false, wantsData: false))
      }
    } then: { [self] result in
      guard case .success = result else { return }
      chronicle.violate(
        .tenantsApart, "\(other.name) reaches \(chronicle.name(story.id)) of \(own.name) (\(verb))")
    }
  }

  // MARK: Decisions

  func answer(_ luck: inout RandomSource, isLate: Bool) {
    let known = chronicle.decisionOrder.filter {
      isLate || chronicle.decisions[$0]?.state == .pending
    }
    guard let id = luck.pick(known) else { return }
    answer(id, &luck)
    // Sends a second answer at once, which may differ.
    if luck.chance(150) { answer(id, &luck) }
  }

  func answer(_ id: DecisionID, _ luck: inout RandomSource) {
    // Such a decision is answered by sending the body.
    if let decision = chronicle.decisions[id]?.decision, decision.type == .taskNeedNewBodyStream {
      return openBody(of: decision.taskID)
    }
    guard let decision = chronicle.decisions[id]?.decision,
      let value = try? JSONParser.parse(Array(answer(to: decision, &luck).utf8))
    else { return }
    guard mayCall else { return }
    call(tenant(of: decision.sessionID), about: .decision(id)) { view, _ in
      try await view.answer(id, with: value)
    } then: { [self] result in
      guard let story = chronicle.decisions[id], !isGone(decision.sessionID) else { return }
      switch result {
      case .success where story.state != .answered:
        chronicle.violate(.toldBehindTheCommit, "an answer was accepted, but its decision is \(story.state)")
      case .failure(ServiceError.decisionNotFound) where !chronicle.isForgotten(decision.sessionID):
        chronicle.violate(.acceptedIsKept, "a decision was not found")
      default: break
      }
    }
  }

  /// Returns a delegate's answer. Repeated answers may be equal or different.
  func answer(to decision: Decision, _ luck: inout RandomSource) -> String {
    // The password matches only the realm of the challenge.
    let space = (try? JSONParser.parse(decision.arguments))?["protectionSpace"]
    let realm = space?["realm"]?.string ?? ""
    let isTrust = space?["authenticationMethod"]?.string == AuthenticationMethod.serverTrust.rawValue
    let trust = #"{"disposition":"useCredential","credential":{"trust":true}}"#
    let password = #"{"disposition":"useCredential","credential":{"user":"\#(realm)","password":"p"}}"#
    let choices: [String] =
      switch decision.type {
      case .taskWillPerformHTTPRedirection:
        [#"{"request":null}"#, #"{"request":{"url":"http://third.test/"}}"#]
      case .dataTaskDidReceiveResponse:
        ["allow", "allow", "cancel", "becomeDownload"].map {
          #"{"disposition":"\#($0)"}"#
        }
      case .dataTaskWillCacheResponse:
        [#"{"storagePolicy":"allowed"}"#, #"{"storagePolicy":"notAllowed"}"#]
      case .taskWillBeginDelayedRequest:
        [
          #"{"disposition":"continueLoading"}"#, #"{"disposition":"cancel"}"#,
          #"{"disposition":"useNewRequest","request":{"url":"http://origin.test/new","method":"POST"}}"#,
        ]
      default:
        [
          isTrust ? trust : password, isTrust ? trust : password,
          #"{"disposition":"performDefaultHandling"}"#,
          #"{"disposition":"cancelAuthenticationChallenge"}"#, #"{"disposition":"rejectProtectionSpace"}"#,
        ]
      }
    return choices[luck.below(choices.count)]
  }
}
