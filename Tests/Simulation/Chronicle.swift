internal import Ledger
internal import LifeCycle
internal import TransferModel

/// What is committed, as it is committed, and whether it is what may be. It is beside the program and outlives every process: what a
/// client, a webhook or a stream is told is held against it. For one thread.
package final class Chronicle: @unchecked Sendable {
  struct TaskStory {
    let id: TaskID
    let session: SessionID
    let kind: TaskKind
    /// Its place among all tasks of the world.
    let place: Int
    let method: String
    var row: TransferTask
    var life: TaskLife
    var hasBeen: Set<TaskState> = []
    var words: [TaskWord] = []
    var isOver: Bool { life.isOver }
  }
  struct SessionStory {
    var session: TransferSession
    let place: Int
    /// The service that has created it; ephemeral ones stay there.
    let home: Int?
    var life: SessionLife
    var unfinished = 0
    /// Its events may be gone, or go.
    var isBeingDeleted = false
    var isDeleted = false
  }
  struct DecisionStory {
    let decision: Decision
    var state = Decision.State.pending
  }

  private(set) var tasks: [TaskID: TaskStory] = [:]
  private(set) var taskOrder: [TaskID] = []
  private(set) var sessions: [SessionID: SessionStory] = [:]
  private(set) var sessionOrder: [SessionID] = []
  private(set) var decisions: [DecisionID: DecisionStory] = [:]
  private(set) var decisionOrder: [DecisionID] = []
  private(set) var pendingOfTask: [TaskID: [DecisionID]] = [:]
  private(set) var deliveries: [DeliveryID: (session: SessionID, state: WebhookDelivery.State)] = [:]
  private(set) var replies: [IdempotencyKey: IdempotentReply] = [:]
  private(set) var unfinished = 0
  private(set) var ended = 0
  /// Durable numbers of what was told, in order, by whose stream they belong to.
  private(set) var ofTenant: [Tenant: [(number: Int64, session: SessionID)]] = [:]
  private(set) var ofSession: [SessionID: [(number: Int64, session: SessionID)]] = [:]
  private(set) var lastNumber: Int64 = 0
  private var takenNews: Set<Int64> = []
  private var takenCommands: Int64 = 0
  private(set) var pendingDeliveries = 0
  private(set) var pendingDecisions = 0
  /// Who has written what is looked at.
  private var writer = Writer.service(0)
  private var owners = KnownOwners()
  /// A digest of all that was committed.
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var violations: [Violation] = []
  /// Hears each event, where somebody wants a trace.
  var trace: ((String) -> Void)?

  func break_(_ invariant: Invariant, _ detail: String) {
    violations.append(Violation(invariant: invariant, detail: detail))
  }

  func mix(_ value: some BinaryInteger) {
    hash = (hash ^ UInt64(truncatingIfNeeded: value)) &* 0x100_0000_01B3
  }

  // MARK: A commit

  /// - Parameter writer: the process that has written it.
  func observe(_ change: StoreChange, _ fragments: [JournalFragment], of writer: Writer) {
    self.writer = writer
    let withdrawn = change.ownership.flatMap { owners.take($0, of: writer) }
    if change.ownership == nil { checkWriter(of: change, writer) }
    if change.isProgressOnly { return }
    for command in change.commands { trace?("      to the worker: \(command.document.prefix(100))") }
    for session in change.sessions { take(session, of: writer.service) }
    let downloads = Set(change.updatedTasks.compactMap(\.downloadTask))
    for task in change.createdTasks { take(new: task, goesOnForDataTask: downloads.contains(task.id)) }
    for task in change.updatedTasks { take(task) }
    for event in change.events where !event.type.isProgress { take(event) }
    for task in change.updatedTasks { compare(task.id) }
    for task in change.createdTasks { compare(task.id) }
    for decision in change.newDecisions { take(new: decision) }
    for decision in change.settledDecisions { settle(decision.id, decision.state) }
    for decision in change.newDecisions { checkAlone(decision) }
    if let withdrawn { withdrawAll(in: withdrawn) }
    for event in change.events { checkQuestion(behind: event) }
    take(messages: change)
    take(queues: change)
    if let reply = change.idempotentReply { replies[reply.key] = reply }
    for fragment in fragments where !fragment.isProgressOnly { take(fragment) }
    if let id = change.thinnedSession ?? change.deletedSession { sessions[id]?.isBeingDeleted = true }
    if let id = change.deletedSession { delete(id) }
  }

  // MARK: Owners
  /// Whether what is in the memory of one service alone is not there any more: another has taken that one's place.
  func isForgotten(_ id: SessionID) -> Bool {
    guard let story = sessions[id], story.session.type == .ephemeral else { return false }
    return story.home.map { !isMember($0) } ?? false
  }

  /// Whether there was more than one service: who waits is let go before a session moves, and again where it stays after all.
  var hasBeenShared: Bool { owners.serviceCount > 1 }

  /// Whether a service takes part.
  func isMember(_ node: Int) -> Bool { owners.isMember(node) }

  private func checkWriter(of change: StoreChange, _ writer: Writer) {
    switch writer {
    case .service(let node): checkOwner(of: change, node)
    case .worker(let node) where node == owners.worker: break
    case .worker: break_(.oneOwnerActs, "\(writer) has written, and another has taken its place")
    }
  }

  private func checkOwner(of change: StoreChange, _ node: Int) {
    guard isMember(node) else {
      return break_(.oneOwnerActs, "service \(node) has written, and takes no part any more")
    }
    var touched = Set(change.sessions.map(\.id))
    touched.formUnion((change.createdTasks + change.updatedTasks).map(\.sessionID))
    touched.formUnion(change.events.map(\.sessionID))
    touched.formUnion(change.newDecisions.map(\.sessionID))
    touched.formUnion(change.updatedDeliveries.map(\.sessionID))
    touched.formUnion(change.settledDecisions.compactMap { decisions[$0.id]?.decision.sessionID })
    touched.formUnion([change.thinnedSession, change.deletedSession].compactMap { $0 })
    for id in touched where !owners.owns(id, node) {
      let type = sessions[id]?.session.type ?? change.sessions.first { $0.id == id }?.type
      guard type != .ephemeral else { continue }
      break_(.oneOwnerActs, "service \(node) has written what is another's: \(type.map { "\($0)" } ?? "")")
    }
  }

  private func take(_ session: TransferSession, of node: Int?) {
    guard var story = sessions[session.id] else {
      let place = sessionOrder.count
      sessionOrder.append(session.id)
      sessions[session.id] = SessionStory(
        session: session, place: place, home: node,
        life: SessionLife(session.type, isShared: session.id.isShared))
      return
    }
    if story.session.state == .invalid, session.state != .invalid {
      break_(.rowsAgree, "session \(story.place) was invalid and is \(session.state)")
    }
    story.session = session
    sessions[session.id] = story
  }

  private func take(new task: TransferTask, goesOnForDataTask: Bool) {
    guard let session = sessions[task.sessionID]?.session else {
      return break_(.rowsAgree, "a task of a session that is not there")
    }
    guard tasks[task.id] == nil else { return break_(.endsOnce, "a task was created twice") }
    let circumstances = TaskCircumstances(of: task, in: session, goesOnForDataTask: goesOnForDataTask)
    let story = TaskStory(
      id: task.id, session: task.sessionID, kind: task.kind, place: taskOrder.count,
      method: task.originalRequest.method, row: task, life: TaskLife(circumstances))
    taskOrder.append(task.id)
    tasks[task.id] = story
    tasks[task.id]?.hasBeen.insert(task.state)
    unfinished += 1
    sessions[task.sessionID]?.unfinished += 1
  }

  private func take(_ task: TransferTask) {
    guard var story = tasks[task.id] else { return }
    if story.row.state == .completed, task.state != .completed {
      break_(.endsOnce, "\(name(task.id)) had ended and is \(task.state)")
    }
    if task.error?.message == AttemptFile.failure {
      break_(.bytesStay, "\(name(task.id)) has lost its draft to somebody")
    }
    story.row = task
    story.hasBeen.insert(task.state)
    tasks[task.id] = story
  }

  private func take(_ event: TransferEvent) {
    trace?("    \(writer): \(event.type.rawValue) \(event.taskID.map { name($0) } ?? "")")
    mix(event.type.hashValueOfName)
    guard let id = event.taskID else {
      if let word = SessionWord(event.type) { take(word, event.sessionID) }
      return
    }
    guard let index = tasks.index(forKey: id), let word = TaskWord(event) else {
      return break_(.taskGrammar, "\(event.type.rawValue) of a task that is not there")
    }
    mix(tasks.values[index].place)
    take(SessionWord(word), event.sessionID)
    let wasOver = tasks.values[index].isOver
    tasks.values[index].words.append(word)
    if case .stateChanged(let state, _, _) = event.payload { tasks.values[index].hasBeen.insert(state) }
    do throws(TaskLife.Violation) { try tasks.values[index].life.accept(word) } catch {
      let isEnd =
        switch word {
        case .completed, .becameDownload: true
        default: false
        }
      let story = tasks.values[index]
      let words = story.words.map(\.description).joined(separator: " · ")
      let type = sessions[story.session]?.session.type.rawValue ?? ""
      break_(
        wasOver && isEnd ? .endsOnce : .taskGrammar,
        "\(name(id)) (\(story.kind.rawValue), \(type)): \(error)\n    \(words)")
    }
    guard !wasOver, tasks.values[index].isOver else { return }
    unfinished -= 1
    ended += 1
    sessions[event.sessionID]?.unfinished -= 1
  }

  private func take(_ word: SessionWord, _ id: SessionID) {
    guard let index = sessions.index(forKey: id) else {
      return break_(.sessionGrammar, "an event of a session that is not there")
    }
    do throws(SessionLife.Violation) { try sessions.values[index].life.accept(word) } catch {
      break_(.sessionGrammar, "session \(sessions.values[index].place): \(error)")
    }
  }

  private func compare(_ id: TaskID) {
    guard let story = tasks[id], story.row.state != story.life.currentState else { return }
    break_(
      .rowsAgree, "\(name(id))'s row says \(story.row.state), and its events say \(story.life.currentState)")
  }

  // MARK: Decisions

  private func take(new decision: Decision) {
    guard decisions[decision.id] == nil else {
      return break_(.decisionsSettleOnce, "a decision was asked for twice")
    }
    decisions[decision.id] = DecisionStory(decision: decision)
    decisionOrder.append(decision.id)
    pendingOfTask[decision.taskID, default: []].append(decision.id)
    pendingDecisions += 1
  }

  /// One page of news may tell of a question, of its end, and of the next.
  private func checkAlone(_ decision: Decision) {
    guard pendingOfTask[decision.taskID]?.count ?? 0 > 1 else { return }
    let words = tasks[decision.taskID]?.words.map(\.description).joined(separator: " · ") ?? ""
    break_(
      .decisionsSettleOnce, "\(name(decision.taskID)) asks again while a question of it waits\n    \(words)")
  }

  private func settle(_ id: DecisionID, _ state: Decision.State) {
    guard let story = decisions[id] else {
      return break_(.decisionsSettleOnce, "of one that was not asked for")
    }
    guard story.state == .pending else {
      return break_(
        .decisionsSettleOnce,
        "a decision of \(name(story.decision.taskID)) was \(story.state) and is \(state)")
    }
    guard state != .pending else { return }
    decisions[id]?.state = state
    pendingOfTask[story.decision.taskID]?.removeAll { $0 == id }
    if pendingOfTask[story.decision.taskID]?.isEmpty == true { pendingOfTask[story.decision.taskID] = nil }
    pendingDecisions -= 1
    mix(state.rawValue.utf8.count)
  }

  private func withdrawAll(in shards: ShardSet) {
    for id in decisionOrder {
      guard let story = decisions[id], story.state == .pending,
        shards.contains(story.decision.sessionID.shard),
        sessions[story.decision.sessionID]?.session.type == .default
      else { continue }
      settle(id, .withdrawn)
    }
  }

  /// None waits for an answer that has ended, or is about to.
  private func checkQuestion(behind event: TransferEvent) {
    guard let id = event.taskID, pendingOfTask[id] != nil, tasks[id]?.isOver == true else { return }
    break_(.decisionsSettleOnce, "\(name(id)) has ended, and its question waits")
  }

  // MARK: Messages and queues

  private func take(messages change: StoreChange) {
    var wanted = 0
    for event in change.events {
      guard let delegate = sessions[event.sessionID]?.session.delegate, delegate.webhook != nil else {
        continue
      }
      let answers = event.decision != nil && delegate.webhookAnswers
      if answers || delegate.events.contains(event.type) { wanted += 1 }
    }
    var told = 0
    for delivery in change.newDeliveries {
      if deliveries[delivery.id] != nil { break_(.messagesAreWanted, "a message was written twice") }
      deliveries[delivery.id] = (delivery.sessionID, .pending)
      pendingDeliveries += 1
      if delivery.type != .sessionHandleEvents { told += 1 }
    }
    if wanted != told {
      break_(.messagesAreWanted, "\(wanted) events were to be told, and \(told) messages are")
    }
    for delivery in change.updatedDeliveries {
      guard deliveries[delivery.id]?.state == .pending, delivery.state != .pending else { continue }
      deliveries[delivery.id]?.state = delivery.state
      pendingDeliveries -= 1
    }
  }

  private func take(queues change: StoreChange) {
    // Each session takes its own, with what they come to.
    for number in change.takenNews.joined() where !takenNews.insert(number).inserted {
      break_(.takenOnce, "news \(number) were taken twice")
    }
    for range in change.takenCommands {
      if range.lowerBound <= takenCommands { break_(.takenOnce, "commands \(range) were taken twice") }
      takenCommands = max(takenCommands, range.upperBound)
    }
  }

  // MARK: Streams

  private func take(_ fragment: JournalFragment) {
    guard let session = sessions[fragment.sessionID]?.session else {
      return break_(.tenantsApart, "an event of nobody's session")
    }
    if fragment.tenant != session.tenant {
      break_(
        .tenantsApart, "an event of \(session.tenant.name) is told to \(fragment.tenant?.name ?? "nobody")")
    }
    if fragment.first <= lastNumber {
      break_(.streamsAreWhole, "number \(fragment.first) comes behind \(lastNumber)")
    }
    trace?("      \(fragment.first)…\(fragment.last) \(session.type) in shard \(session.id.shard.number)")
    lastNumber = max(lastNumber, fragment.last)
    for number in fragment.first...max(fragment.first, fragment.last) {
      ofTenant[session.tenant, default: []].append((number, session.id))
      ofSession[session.id, default: []].append((number, session.id))
    }
  }

  /// A stream, or a process's hub, tells it.
  func checkTold(_ fragments: [JournalFragment]) {
    for fragment in fragments where !fragment.isProgressOnly && fragment.last > lastNumber {
      break_(.toldBehindTheCommit, "a stream tells \(fragment.last), and \(lastNumber) is committed")
    }
  }

  // MARK: What goes

  private func delete(_ id: SessionID) {
    guard let story = sessions[id], !story.isDeleted else { return }
    if story.session.state != .invalid {
      break_(.acceptedIsKept, "a session was deleted that is not invalid")
    }
    drop(id)
  }

  /// The process of the service is gone, and with it all that was in its memory alone.
  func forgetEphemeral(of node: Int) {
    for id in sessionOrder {
      guard let story = sessions[id], story.session.type == .ephemeral, story.home == node else { continue }
      if !story.isDeleted { drop(id) }
    }
  }

  private func drop(_ id: SessionID) {
    sessions[id]?.isDeleted = true
    sessions[id]?.isBeingDeleted = true
    for task in taskOrder where tasks[task]?.session == id {
      if tasks[task]?.isOver == false { unfinished -= 1 }
      for decision in pendingOfTask[task] ?? [] { settle(decision, .withdrawn) }
      tasks[task] = nil
    }
    for (delivery, known) in deliveries where known.session == id && known.state == .pending {
      deliveries[delivery]?.state = .failed
      pendingDeliveries -= 1
    }
    taskOrder.removeAll { tasks[$0] == nil }
    decisionOrder.removeAll { decisions[$0]?.decision.sessionID == id }
  }

  // MARK: Names

  func name(_ id: TaskID) -> String { tasks[id].map { "task \($0.place)" } ?? "a task that is gone" }
}

extension EventType {
  /// The same in every process.
  fileprivate var hashValueOfName: Int { Self.places[self] ?? -1 }
  private static let places = Dictionary(uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}
