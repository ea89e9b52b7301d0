internal import Ledger
internal import LifeCycle
internal import TransferModel

/// A record of all commits, which checks each commit against the invariants. It is outside the program and outlives every process.
/// Everything that a client, a webhook or a stream receives is compared with it. For one thread.
package final class CommitHistory: @unchecked Sendable {
  struct TaskStory {
    let id: TaskID
    let session: SessionID
    let kind: TaskKind
    /// The index among all tasks of the world.
    let place: Int
    let method: String
    var row: TransferTask
    var life: TaskLifeAutomaton
    var hasBeen: Set<TaskState> = []
    var words: [TaskSymbol] = []
    var isOver: Bool { life.isOver }
  }
  struct SessionStory {
    var session: TransferSession
    let place: Int
    /// The service that created the session. An ephemeral session stays in that service.
    let home: Int?
    var life: SessionLifeAutomaton
    var unfinished = 0
    /// Whether the deletion has begun, so that events may be missing.
    var isBeingDeleted = false
    var isDeleted = false
  }
  struct DecisionStory {
    let decision: Decision
    var state = Decision.State.pending
  }

  struct DeliveryStory {
    let session: SessionID
    let endpoint: EndpointID?
    var state = WebhookDelivery.State.pending
    /// Whether a client wanted it again. It then has no order.
    var wasRedelivered = false
  }
  private struct Lane: Hashable {
    let task: TaskID
    let destination: DestinationID
  }

  private(set) var tasks: [TaskID: TaskStory] = [:]
  private(set) var taskOrder: [TaskID] = []
  private(set) var sessions: [SessionID: SessionStory] = [:]
  private(set) var sessionOrder: [SessionID] = []
  private(set) var decisions: [DecisionID: DecisionStory] = [:]
  private(set) var decisionOrder: [DecisionID] = []
  private(set) var pendingOfTask: [TaskID: [DecisionID]] = [:]
  private(set) var deliveries: [DeliveryID: DeliveryStory] = [:]
  private(set) var deliveryOrder: [DeliveryID] = []
  /// The messages of each task to one webhook, in the order of their commits.
  private var messages: [Lane: [DeliveryID]] = [:]
  private var laneOfMessage: [DeliveryID: Lane] = [:]
  var endpoints: [EndpointID: EndpointStory] = [:]
  var endpointOrder: [EndpointID] = []
  /// The messages that clients want again and that were not sent since, with the round of the request.
  var awaited: [DeliveryID: Int] = [:]
  private(set) var replies: [IdempotencyKey: IdempotentReply] = [:]
  var groups: [TaskGroupKey: GroupStory] = [:]
  private(set) var unfinished = 0
  private(set) var ended = 0
  /// The durable event numbers in order, by tenant and by session.
  private(set) var ofTenant: [Tenant: [(number: Int64, session: SessionID)]] = [:]
  private(set) var ofSession: [SessionID: [(number: Int64, session: SessionID)]] = [:]
  private(set) var lastNumber: Int64 = 0
  private var takenNews: Set<Int64> = []
  private var takenCommands: Int64 = 0
  private(set) var pendingDeliveries = 0
  private(set) var pendingDecisions = 0
  /// The process that wrote the current commit.
  private var writer = Writer.service(0)
  private var owners = CommittedOwnership()
  /// The changes with which attempts of the worker have begun.
  var workerStarts: [TaskID: Int] = [:]
  /// A digest of all commits.
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var violations: [Violation] = []
  /// Receives a line for each event, if a trace is wanted.
  var trace: ((String) -> Void)?

  func violate(_ invariant: Invariant, _ detail: String) {
    violations.append(Violation(invariant: invariant, detail: detail))
  }

  func mix(_ value: some BinaryInteger) {
    hash = (hash ^ UInt64(truncatingIfNeeded: value)) &* 0x100_0000_01B3
  }

  // MARK: Commits

  /// - Parameter writer: the process that wrote the commit.
  func observe(_ change: LedgerChange, _ fragments: [JournalFragment], of writer: Writer) {
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
    take(groups: change, downloads: downloads)
    take(endpoints: change)
    if let withdrawn { withdrawAll(in: withdrawn) }
    for event in change.events { checkQuestion(behind: event) }
    take(messages: change)
    take(queues: change)
    if let reply = change.idempotentReply { replies[reply.key] = reply }
    for fragment in fragments where !fragment.isProgressOnly { take(fragment) }
    if let id = change.partlyDeletedSession ?? change.deletedSession { sessions[id]?.isBeingDeleted = true }
    if let id = change.deletedSession { delete(id) }
  }

  // MARK: Owners
  /// Returns whether an ephemeral session is lost because its service was taken over.
  func isForgotten(_ id: SessionID) -> Bool {
    guard let story = sessions[id], story.session.type == .ephemeral else { return false }
    return story.home.map { !isMember($0) } ?? false
  }

  /// Whether there was ever more than one service. Waiting clients are then released early, when a session moves.
  var hasBeenShared: Bool { owners.serviceCount > 1 }

  /// Returns whether a service is a member of the cluster.
  func isMember(_ node: Int) -> Bool { owners.isMember(node) }

  func owns(_ session: SessionID, _ node: Int) -> Bool { owners.owns(session, node) }

  private func checkWriter(of change: LedgerChange, _ writer: Writer) {
    switch writer {
    case .service(let node): checkOwner(of: change, node)
    case .worker(let node) where node == owners.worker: break
    case .worker: violate(.oneOwnerActs, "\(writer) wrote after its replacement")
    }
  }

  private func checkOwner(of change: LedgerChange, _ node: Int) {
    guard isMember(node) else {
      return violate(.oneOwnerActs, "service \(node) wrote after it had left the cluster")
    }
    var touched = Set(change.sessions.map(\.id))
    touched.formUnion((change.createdTasks + change.updatedTasks).map(\.sessionID))
    // Any service may complete a group, or disable an endpoint.
    touched.formUnion(
      change.events.filter { $0.tenant == nil && $0.type != .webhookEndpointDidDisable }.map(\.sessionID))
    touched.formUnion(change.newDecisions.map(\.sessionID))
    touched.formUnion(change.updatedDeliveries.map(\.sessionID))
    touched.formUnion(change.settledDecisions.compactMap { decisions[$0.id]?.decision.sessionID })
    touched.formUnion([change.partlyDeletedSession, change.deletedSession].compactMap { $0 })
    for id in touched where !owners.owns(id, node) {
      let type = sessions[id]?.session.type ?? change.sessions.first { $0.id == id }?.type
      guard type != .ephemeral else { continue }
      violate(
        .oneOwnerActs, "service \(node) wrote to a session of another owner: \(type.map { "\($0)" } ?? "")")
    }
  }

  private func take(_ session: TransferSession, of node: Int?) {
    guard var story = sessions[session.id] else {
      let place = sessionOrder.count
      sessionOrder.append(session.id)
      sessions[session.id] = SessionStory(
        session: session, place: place, home: node,
        life: SessionLifeAutomaton(session.type, isShared: session.id.isShared))
      return
    }
    if story.session.state == .invalid, session.state != .invalid {
      violate(.rowsAgree, "session \(story.place) changed from invalid to \(session.state)")
    }
    story.session = session
    sessions[session.id] = story
  }

  private func take(new task: TransferTask, goesOnForDataTask: Bool) {
    guard let session = sessions[task.sessionID]?.session else {
      return violate(.rowsAgree, "a task of an unknown session")
    }
    guard tasks[task.id] == nil else { return violate(.endsOnce, "a task was created twice") }
    let circumstances = TaskTraits(of: task, in: session, goesOnForDataTask: goesOnForDataTask)
    let story = TaskStory(
      id: task.id, session: task.sessionID, kind: task.kind, place: taskOrder.count,
      method: task.originalRequest.method, row: task, life: TaskLifeAutomaton(circumstances))
    taskOrder.append(task.id)
    tasks[task.id] = story
    tasks[task.id]?.hasBeen.insert(task.state)
    unfinished += 1
    sessions[task.sessionID]?.unfinished += 1
  }

  private func take(_ task: TransferTask) {
    guard var story = tasks[task.id] else { return }
    if story.row.state == .completed, task.state != .completed {
      violate(.endsOnce, "\(name(task.id)) changed from completed to \(task.state)")
    }
    if task.error?.message == AttemptFile.failure {
      violate(.bytesStay, "the draft of \(name(task.id)) was deleted or replaced")
    }
    story.row = task
    story.hasBeen.insert(task.state)
    tasks[task.id] = story
  }

  private func take(_ event: TransferEvent) {
    trace?("    \(writer): \(event.type.rawValue) \(event.taskID.map { name($0) } ?? "")")
    mix(event.type.hashValueOfName)
    guard let id = event.taskID else {
      if let word = SessionSymbol(event.type) { take(word, event.sessionID) }
      return
    }
    guard let index = tasks.index(forKey: id), let word = TaskSymbol(event) else {
      return violate(.taskGrammar, "\(event.type.rawValue) of an unknown task")
    }
    mix(tasks.values[index].place)
    take(SessionSymbol(word), event.sessionID)
    let wasOver = tasks.values[index].isOver
    tasks.values[index].words.append(word)
    if case .stateChanged(let state, _, _) = event.payload { tasks.values[index].hasBeen.insert(state) }
    do throws(TaskLifeAutomaton.Violation) { try tasks.values[index].life.accept(word) } catch {
      let isEnd =
        switch word {
        case .completed, .becameDownload: true
        default: false
        }
      let story = tasks.values[index]
      let words = story.words.map(\.description).joined(separator: " · ")
      let type = sessions[story.session]?.session.type.rawValue ?? ""
      violate(
        wasOver && isEnd ? .endsOnce : .taskGrammar,
        "\(name(id)) (\(story.kind.rawValue), \(type)): \(error)\n    \(words)")
    }
    guard !wasOver, tasks.values[index].isOver else { return }
    unfinished -= 1
    ended += 1
    sessions[event.sessionID]?.unfinished -= 1
  }

  private func take(_ word: SessionSymbol, _ id: SessionID) {
    guard let index = sessions.index(forKey: id) else {
      return violate(.sessionGrammar, "an event of an unknown session")
    }
    do throws(SessionLifeAutomaton.Violation) { try sessions.values[index].life.accept(word) } catch {
      violate(.sessionGrammar, "session \(sessions.values[index].place): \(error)")
    }
  }

  private func compare(_ id: TaskID) {
    guard let story = tasks[id], story.row.state != story.life.currentState else { return }
    violate(
      .rowsAgree,
      "the row of \(name(id)) has the state \(story.row.state), but its events lead to \(story.life.currentState)"
    )
  }

  // MARK: Decisions

  private func take(new decision: Decision) {
    guard decisions[decision.id] == nil else {
      return violate(.decisionsSettleOnce, "a decision was written twice")
    }
    decisions[decision.id] = DecisionStory(decision: decision)
    decisionOrder.append(decision.id)
    pendingOfTask[decision.taskID, default: []].append(decision.id)
    pendingDecisions += 1
  }

  /// Checks that no other decision of the task is open. One page of worker reports may contain a decision, its end and the next one.
  private func checkAlone(_ decision: Decision) {
    guard pendingOfTask[decision.taskID]?.count ?? 0 > 1 else { return }
    let words = tasks[decision.taskID]?.words.map(\.description).joined(separator: " · ") ?? ""
    violate(
      .decisionsSettleOnce,
      "\(name(decision.taskID)) has a second decision while the first is pending\n    \(words)")
  }

  private func settle(_ id: DecisionID, _ state: Decision.State) {
    guard let story = decisions[id] else {
      return violate(.decisionsSettleOnce, "an unknown decision was settled")
    }
    guard story.state == .pending else {
      return violate(
        .decisionsSettleOnce,
        "a decision of \(name(story.decision.taskID)) changed from \(story.state) to \(state)")
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

  /// Checks that no decision of an ended task is open.
  private func checkQuestion(behind event: TransferEvent) {
    guard let id = event.taskID, pendingOfTask[id] != nil, tasks[id]?.isOver == true else { return }
    violate(.decisionsSettleOnce, "\(name(id)) has ended, but its decision is still pending")
  }

  // MARK: Messages and queues

  private func take(messages change: LedgerChange) {
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
      if deliveries[delivery.id] != nil { violate(.messagesAreWanted, "a message was written twice") }
      deliveries[delivery.id] = DeliveryStory(session: delivery.sessionID, endpoint: delivery.endpointID)
      deliveryOrder.append(delivery.id)
      pendingDeliveries += 1
      if let task = delivery.orderedTask {
        let lane = Lane(task: task, destination: delivery.destination)
        messages[lane, default: []].append(delivery.id)
        laneOfMessage[delivery.id] = lane
      }
      if delivery.type != .sessionHandleEvents, delivery.endpointID == nil { told += 1 }
    }
    check(messagesToEndpoints: change)
    if wanted != told {
      violate(.messagesAreWanted, "expected \(wanted) webhook messages, but \(told) were written")
    }
    for delivery in change.updatedDeliveries {
      guard let known = deliveries[delivery.id], sessions[known.session]?.isDeleted != true else { continue }
      if delivery.place == .unordered, delivery.state == .pending, delivery.schedulePlace == 0 {
        deliveries[delivery.id]?.wasRedelivered = true
      }
      deliveries[delivery.id]?.state = delivery.state
      pendingDeliveries += (delivery.state == .pending ? 1 : 0) - (known.state == .pending ? 1 : 0)
    }
  }

  /// Notes that a webhook has received a message.
  func receive(_ id: DeliveryID) {
    guard deliveries[id] != nil else {
      return violate(.toldBehindTheCommit, "a message was sent before its commit")
    }
    guard deliveries[id]?.wasRedelivered == false else { return }
    let earlier = laneOfMessage[id].flatMap { messages[$0] }?.prefix { $0 != id } ?? []
    let waiting = earlier.compactMap { id in deliveries[id].map { (id, $0) } }
    if let (first, _) = waiting.first(where: { $1.state == .pending && !$1.wasRedelivered }) {
      violate(.messagesInOrder, "\(id) was sent while \(first) was pending")
    }
  }

  private func take(queues change: LedgerChange) {
    // Each session consumes its own events, together with their consequences.
    for number in change.consumedReports.joined() where !takenNews.insert(number).inserted {
      violate(.takenOnce, "worker report \(number) was consumed twice")
    }
    for range in change.takenCommands {
      if range.lowerBound <= takenCommands { violate(.takenOnce, "commands \(range) were consumed twice") }
      takenCommands = max(takenCommands, range.upperBound)
    }
  }

  // MARK: Streams

  private func take(_ fragment: JournalFragment) {
    let known = fragment.sessionID == .ofGroups ? nil : sessions[fragment.sessionID]?.session
    guard let tenant = fragment.sessionID == .ofGroups ? fragment.tenant : known?.tenant else {
      return violate(.tenantsApart, "an event of an unknown session in the journal")
    }
    if fragment.tenant != tenant {
      violate(
        .tenantsApart,
        "an event of \(tenant.name) is published for \(fragment.tenant?.name ?? "no tenant")")
    }
    if let id = fragment.taskID, let task = tasks[id]?.row, fragment.tags != task.tags {
      violate(.streamsAreWhole, "an event of \(name(id)) has another group or other labels")
    }
    if fragment.first <= lastNumber {
      violate(.streamsAreWhole, "event \(fragment.first) comes after event \(lastNumber)")
    }
    trace?("      \(fragment.first)…\(fragment.last) in shard \(fragment.sessionID.shard.number)")
    lastNumber = max(lastNumber, fragment.last)
    for number in fragment.first...max(fragment.first, fragment.last) {
      ofTenant[tenant, default: []].append((number, fragment.sessionID))
      ofSession[fragment.sessionID, default: []].append((number, fragment.sessionID))
    }
  }

  /// Checks that a stream, or the hub of a process, shows committed events only.
  func checkTold(_ fragments: [JournalFragment]) {
    for fragment in fragments where !fragment.isProgressOnly && fragment.last > lastNumber {
      violate(
        .toldBehindTheCommit,
        "a stream shows event \(fragment.last), but only events up to \(lastNumber) are committed")
    }
  }

  // MARK: Deletion

  private func delete(_ id: SessionID) {
    guard let story = sessions[id], !story.isDeleted else { return }
    if story.session.state != .invalid {
      violate(.acceptedIsKept, "a session was deleted before it was invalid")
    }
    drop(id)
  }

  /// Removes the ephemeral sessions of a service whose process has ended.
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

  func name(_ id: TaskID) -> String { tasks[id].map { "task \($0.place)" } ?? "a deleted task" }
}

extension EventType {
  /// A number that is the same in every process.
  fileprivate var hashValueOfName: Int { Self.places[self] ?? -1 }
  private static let places = Dictionary(uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}
