import JSON
import Ledger
import LifeCycle
import TransferModel

/// A check of a service's journal against URLSession: the events of each task and session must be accepted by the
/// life-cycle automata.
package struct JournalReview: Sendable {
  /// The violations, each with all events of the task or session.
  package private(set) var faults: [String] = []
  /// The number of tasks that were checked from their first event.
  package private(set) var taskCount = 0

  private struct TaskStory {
    let circumstances: TaskTraits
    var life: TaskLifeAutomaton
    var words: [TaskSymbol] = []
    var violation: String?

    init(_ circumstances: TaskTraits) {
      self.circumstances = circumstances
      life = TaskLifeAutomaton(circumstances)
    }

    mutating func take(_ word: TaskSymbol) {
      words.append(word)
      guard violation == nil else { return }
      do throws(TaskLifeAutomaton.Violation) { try life.accept(word) } catch {
        violation = "event \(words.count), \(error)"
      }
    }
  }
  private struct SessionStory {
    var life: SessionLifeAutomaton
    var words: [SessionSymbol] = []
    var violation: String?

    mutating func take(_ word: SessionSymbol) {
      words.append(word)
      guard violation == nil else { return }
      do throws(SessionLifeAutomaton.Violation) { try life.accept(word) } catch {
        violation = "event \(words.count), \(error)"
      }
    }
  }

  private let journal: JournalSnapshot
  private var tasks: [TaskID: TaskStory] = [:]
  private var sessions: [SessionID: SessionStory] = [:]
  /// Tasks whose first event has been pruned.
  private var cutTasks: Set<TaskID> = []
  private var cutSessions: Set<SessionID> = []
  private var endedGroups: Set<TaskGroupKey> = []

  /// Returns `nil` if the directory has no readable journal.
  /// - Parameter directory: A data directory that no process uses.
  package init?(of directory: String) {
    guard let journal = JournalSnapshot(in: directory) else { return nil }
    self.journal = journal
    let downloads = Set(journal.tasks.values.compactMap(\.downloadTask))
    for fragment in journal.fragments {
      for event in ServerSentEvents.split(fragment.bytes) {
        guard let type = ServerSentEvents.type(of: event) else {
          faults.append("an event of fragment \(fragment.first) has an unknown type")
          continue
        }
        if type == .groupDidComplete {
          take(groupEnd: event, of: fragment.tenant)
        } else if let task = fragment.taskID {
          take(type, event, of: task, in: fragment.sessionID, downloads)
        } else if type.isOfTenant {
          continue
        } else if let word = SessionSymbol(type) {
          take(word, in: fragment.sessionID)
        } else {
          faults.append("\(type.rawValue) is not an event of a session (\(fragment.sessionID))")
        }
      }
    }
    judge()
  }

  /// A group ends once.
  private mutating func take(groupEnd event: ArraySlice<UInt8>, of tenant: Tenant?) {
    let data = try? JSONParser.parse(Array(ServerSentEvents.data(of: event)))["data"]
    let name = data?["name"]?.string ?? ""
    guard let tenant, !name.isEmpty else {
      return faults.append("the end of a group has no tenant or no name")
    }
    if !endedGroups.insert(TaskGroupKey(tenant: tenant, name: name)).inserted {
      faults.append("the group \(name) has ended twice")
    }
  }

  private mutating func take(
    _ type: EventType, _ event: ArraySlice<UInt8>, of id: TaskID, in session: SessionID,
    _ downloads: Set<TaskID>
  ) {
    let data = Self.data(type, event)
    guard let word = TaskSymbol(type, data) else {
      faults.append("\(type.rawValue) is not an event of a task (\(id))")
      return
    }
    if case .state(_, let phase) = word {
      let saysWhy = data["lastError"] != nil && data["nextAttemptAt"] != nil
      if saysWhy != (phase == .waitingToRetry) {
        faults.append("\(id) has retry details: \(saysWhy), in phase \(phase?.rawValue ?? "null")")
      }
    }
    if tasks[id] == nil, mayBeCut(session) {
      if case .created = word {} else { cutTasks.insert(id) }
    }
    if cutTasks.contains(id) {
      cutSessions.insert(session)
      return
    }
    take(SessionSymbol(word), in: session)
    guard tasks[id] != nil || begin(id, in: session, downloads) else { return }
    tasks[id]?.take(word)
  }

  /// The first events of a task may be missing if old events were pruned, or if its session is being deleted.
  private func mayBeCut(_ session: SessionID) -> Bool {
    journal.isPruned || journal.sessions[session]?.state == .invalid
  }

  /// Begins to check a task. Returns false if its row is gone, so that its kind is unknown.
  private mutating func begin(_ id: TaskID, in session: SessionID, _ downloads: Set<TaskID>) -> Bool {
    guard let task = journal.tasks[id], let session = journal.sessions[session] else { return false }
    tasks[id] = TaskStory(
      TaskTraits(of: task, in: session, goesOnForDataTask: downloads.contains(id)))
    taskCount += 1
    return true
  }

  private mutating func take(_ word: SessionSymbol, in id: SessionID) {
    guard let session = journal.sessions[id] else { return }
    sessions[id, default: SessionStory(life: SessionLifeAutomaton(session.type, isShared: id == .shared))]
      .take(word)
  }

  private static func data(_ type: EventType, _ event: ArraySlice<UInt8>) -> JSONValue {
    guard TaskSymbol.needsData(type) else { return .null }
    let line = event.split(separator: 0x0A).first { $0.starts(with: "data: ".utf8) } ?? []
    return (try? JSONParser.parse(Array(line.dropFirst(6))))?["data"] ?? .null
  }

  // MARK: The end of the journal

  private mutating func judge() {
    // If a row is unreadable, its events are missing, so no violation is certain.
    guard !journal.isDamaged else {
      faults = []
      return
    }
    for (id, story) in tasks.sorted(by: { $0.key < $1.key }) {
      guard let fault = story.violation ?? differenceFromRow(id, story) else { continue }
      let circumstances = story.circumstances
      let story = story.words.map(\.description).joined(separator: " · ")
      faults.append("\(id) (\(circumstances.kind), \(circumstances.sessionType)): \(fault)\n    \(story)")
    }
    guard !journal.isPruned else { return }
    for (id, story) in sessions.sorted(by: { $0.key < $1.key })
    // A client may have deleted all tasks, and their events with them.
    where !cutSessions.contains(id)
      && !story.words.allSatisfy({ [.finishedEvents, .becameInvalid].contains($0) })
    {
      guard let fault = story.violation ?? differenceFromRow(id, story) else { continue }
      faults.append("\(id): \(fault)\n    \(story.words.map { "\($0)" }.joined(separator: " · "))")
    }
    for id in journal.tasksWithOrphanedDecisions {
      faults.append("\(id) has ended, but one of its decisions is still pending")
    }
  }

  /// A task's row and its events are written in the same commit, so they must agree.
  private func differenceFromRow(_ id: TaskID, _ story: TaskStory) -> String? {
    guard journal.isWhole, let task = journal.tasks[id], task.state != story.life.currentState else {
      return nil
    }
    return "its row says \(task.state), but its events lead to \(story.life.currentState)"
  }

  private func differenceFromRow(_ id: SessionID, _ story: SessionStory) -> String? {
    guard journal.isWhole, let session = journal.sessions[id] else { return nil }
    guard (session.state == .invalid) != story.life.isOver else { return nil }
    return "its row says \(session.state), but its events say "
      + (story.life.isOver ? "invalid" : "otherwise")
  }
}
