import JSON
import Ledger
import LifeCycle
import TransferModel

/// Whether what a service has told is what URLSession tells: each task and each session of its journal, run through the automata of
/// their lives.
package struct JournalReview: Sendable {
  /// What is wrong, each with all that was told of the task or the session.
  package private(set) var faults: [String] = []
  /// Tasks that were looked at from their first event on.
  package private(set) var taskCount = 0

  private struct TaskStory {
    let circumstances: TaskCircumstances
    var life: TaskLife
    var words: [TaskWord] = []
    var violation: String?

    init(_ circumstances: TaskCircumstances) {
      self.circumstances = circumstances
      life = TaskLife(circumstances)
    }

    mutating func take(_ word: TaskWord) {
      words.append(word)
      guard violation == nil else { return }
      do throws(TaskLife.Violation) { try life.accept(word) } catch {
        violation = "event \(words.count), \(error)"
      }
    }
  }
  private struct SessionStory {
    var life: SessionLife
    var words: [SessionWord] = []
    var violation: String?

    mutating func take(_ word: SessionWord) {
      words.append(word)
      guard violation == nil else { return }
      do throws(SessionLife.Violation) { try life.accept(word) } catch {
        violation = "event \(words.count), \(error)"
      }
    }
  }

  private let journal: LeftJournal
  private var tasks: [TaskID: TaskStory] = [:]
  private var sessions: [SessionID: SessionStory] = [:]
  /// Whose first event is gone with others.
  private var cutTasks: Set<TaskID> = []
  private var cutSessions: Set<SessionID> = []

  /// Nil where there is no journal that can be read.
  /// - Parameter directory: a data directory that no process uses any more.
  package init?(of directory: String) {
    guard let journal = LeftJournal(in: directory) else { return nil }
    self.journal = journal
    let downloads = Set(journal.tasks.values.compactMap(\.downloadTask))
    for fragment in journal.fragments {
      for event in ServerSentEvents.split(fragment.bytes) {
        guard let type = ServerSentEvents.type(of: event) else {
          faults.append("an event of \(fragment.first) has no type that is known")
          continue
        }
        if let task = fragment.taskID {
          take(type, event, of: task, in: fragment.sessionID, downloads)
        } else if let word = SessionWord(type) {
          take(word, in: fragment.sessionID)
        } else {
          faults.append("\(type.rawValue) is no event of \(fragment.sessionID)")
        }
      }
    }
    judge()
  }

  private mutating func take(
    _ type: EventType, _ event: ArraySlice<UInt8>, of id: TaskID, in session: SessionID,
    _ downloads: Set<TaskID>
  ) {
    let data = Self.data(type, event)
    guard let word = TaskWord(type, data) else {
      faults.append("\(type.rawValue) is no event of \(id)")
      return
    }
    if case .state(_, let phase) = word {
      let saysWhy = data["lastError"] != nil && data["nextAttemptAt"] != nil
      if saysWhy != (phase == .waitingToRetry) {
        faults.append("\(id) says why it waits to retry: \(saysWhy), in phase \(phase?.rawValue ?? "null")")
      }
    }
    if tasks[id] == nil, mayBeCut(session) {
      if case .created = word {} else { cutTasks.insert(id) }
    }
    if cutTasks.contains(id) {
      cutSessions.insert(session)
      return
    }
    take(SessionWord(word), in: session)
    guard tasks[id] != nil || begin(id, in: session, downloads) else { return }
    tasks[id]?.take(word)
  }

  /// Old events go, and those of a session that is being deleted.
  private func mayBeCut(_ session: SessionID) -> Bool {
    journal.isPruned || journal.sessions[session]?.state == .invalid
  }

  /// False where it is not known what the task is: retention has taken its row.
  private mutating func begin(_ id: TaskID, in session: SessionID, _ downloads: Set<TaskID>) -> Bool {
    guard let task = journal.tasks[id], let session = journal.sessions[session] else { return false }
    tasks[id] = TaskStory(
      TaskCircumstances(of: task, in: session, goesOnForDataTask: downloads.contains(id)))
    taskCount += 1
    return true
  }

  private mutating func take(_ word: SessionWord, in id: SessionID) {
    guard let session = journal.sessions[id] else { return }
    sessions[id, default: SessionStory(life: SessionLife(session.type, isShared: id == .shared))].take(word)
  }

  private static func data(_ type: EventType, _ event: ArraySlice<UInt8>) -> JSONValue {
    guard TaskWord.needsData(type) else { return .null }
    let line = event.split(separator: 0x0A).first { $0.starts(with: "data: ".utf8) } ?? []
    return (try? JSONParser.parse(Array(line.dropFirst(6))))?["data"] ?? .null
  }

  // MARK: The end of the journal

  private mutating func judge() {
    // Where a row cannot be read, what it told is missing from some story.
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
    for (id, story) in sessions.sorted(by: { $0.key < $1.key }) where !cutSessions.contains(id) {
      guard let fault = story.violation ?? differenceFromRow(id, story) else { continue }
      faults.append("\(id): \(fault)\n    \(story.words.map { "\($0)" }.joined(separator: " · "))")
    }
    for id in journal.askedInVain { faults.append("\(id) has ended, and a decision of it is still pending") }
  }

  /// A task's row and its events are written together.
  private func differenceFromRow(_ id: TaskID, _ story: TaskStory) -> String? {
    guard journal.isWhole, let task = journal.tasks[id], task.state != story.life.currentState else {
      return nil
    }
    return "its row says \(task.state), and its events say \(story.life.currentState)"
  }

  private func differenceFromRow(_ id: SessionID, _ story: SessionStory) -> String? {
    guard journal.isWhole, let session = journal.sessions[id] else { return nil }
    guard (session.state == .invalid) != story.life.isOver else { return nil }
    return "its row says \(session.state), and its events " + (story.life.isOver ? "invalid" : "do not")
  }
}
