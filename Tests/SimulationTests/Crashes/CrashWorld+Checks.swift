import Ledger
import MemoryLedger
import SimulatedStores
import Simulation
import Synchronization
import TransferCore
import TransferModel

@testable import TransferService

/// The checks at the end of a scenario, for any crash.
extension CrashWorld {
  /// The status of a scripted response to an answer that belongs to another decision.
  static let wrongAnswer = 599

  private struct Remains: Sendable {
    var sessions: [TransferSession] = []
    var tasks: [TransferTask] = []
    var decisions: [Decision] = []
    var events: [(session: SessionID, task: TaskID?, type: EventType)] = []
    var commands = 0
    var news = 0
    var work = 0
    var due = 0
  }

  func check() {
    guard let remains = read({ try await Self.remains(of: $0) }) else { return }
    faults += origin.faults
    checkNothingWaits(remains)
    checkTasks(remains)
    checkSessions(remains)
    checkAcknowledged(remains)
    for decision in remains.decisions where decision.state == .pending {
      faults.append("a decision stays pending: \(decision.type)")
    }
  }

  private static func remains(of store: SimulatedLedger) async throws -> Remains {
    var remains = Remains()
    remains.sessions = try await store.sessions().map(\.session)
    for session in remains.sessions {
      remains.tasks += try await store.tasks(TaskQuery(session: session.id, limit: 1000))
      remains.decisions += try await store.decisions(of: session.id, state: nil, after: nil, limit: 1000)
    }
    for fragment in try await store.journal(.tenant(.default), after: 0, maximumBytes: 1 << 30).fragments {
      for event in ServerSentEvents.split(fragment.bytes) {
        guard let type = ServerSentEvents.type(of: event) else { continue }
        remains.events.append((fragment.sessionID, fragment.taskID, type))
      }
    }
    remains.commands = try await store.commands(after: 0, limit: 1000).count
    remains.news = try await store.workerReports(after: 0, limit: 1000).count
    remains.work = try await store.work().count
    remains.due = try await store.pendingDestinations(after: nil, limit: 1).count
    return remains
  }

  private func checkNothingWaits(_ remains: Remains) {
    let room = service.service.runtime
    if !room.isIdle { faults.append("a client still waits, or an action is still due") }
    for session in room.sessions() {
      if room.read(at: session.id, { $0.unfinished }) != 0 {
        faults.append("a session still has unfinished tasks")
      }
      if room.read(at: session.id, { $0.hasDeliveredAll }) != true {
        faults.append("a session still has pending deliveries")
      }
    }
    if let worker, !worker.worker.isIdle { faults.append("the worker is not idle") }
    if let worker, !worker.worker.isQuiet {
      faults.append("the worker still counts a task as active")
    }
    let queues = (remains.commands, remains.news, remains.work)
    if queues != (0, 0, 0) { faults.append("rows remain (commands, worker reports, work): \(queues)") }
    if remains.due > 0 { faults.append("a message stays pending") }
  }

  private func checkTasks(_ remains: Remains) {
    for task in remains.tasks {
      let types = remains.events.filter { $0.task == task.id }.map(\.type)
      let ends = types.count { $0 == .taskDidComplete } + types.count { $0 == .dataTaskDidBecomeDownloadTask }
      if task.state != .completed { faults.append("\(task.id) stays \(task.state)") }
      if ends != 1 { faults.append("\(task.id) has \(ends) end events: \(types.map(\.rawValue))") }
      if types.first != .taskDidCreate {
        faults.append("the first event of \(task.id) is \(String(describing: types.first))")
      }
      if let last = types.last, last != .taskDidComplete, last != .dataTaskDidBecomeDownloadTask {
        faults.append("\(task.id) has the event \(last.rawValue) after its end")
      }
      if task.response?.status == Self.wrongAnswer { faults.append("an answer reached a different decision") }
      checkMessages(of: task, remains.sessions.first { $0.id == task.sessionID })
      let requests = origin.unsafeRequests[task.id] ?? 0
      if requests > 1 + task.retryCount {
        faults.append("\(task.id) sent \(requests) requests, but reports \(task.retryCount) retries")
      }
    }
  }

  /// Checks that one message reports the end. It may have been sent several times.
  private func checkMessages(of task: TransferTask, _ session: TransferSession?) {
    let ends = Set(sent.filter { $0.task == task.id && $0.type == .taskDidComplete }.map(\.id)).count
    let isWanted = session?.delegate?.events.contains(.taskDidComplete) == true && task.downloadTask == nil
    if ends != (isWanted ? 1 : 0) { faults.append("\(ends) messages report the end of \(task.id)") }
  }

  private func checkSessions(_ remains: Remains) {
    for session in remains.sessions {
      let events = remains.events.filter { $0.session == session.id }
      let invalid = events.count { $0.type == .sessionDidBecomeInvalid }
      if invalid != (session.state == .invalid ? 1 : 0) {
        faults.append("\(session.id) is \(session.state), but has \(invalid) didBecomeInvalid events")
      }
      if invalid > 0, events.last?.type != .sessionDidBecomeInvalid {
        faults.append("\(session.id) has the event \(events.last?.type.rawValue ?? "") after its end")
      }
      guard session.type == .background else { continue }
      if session.state == .invalidating { faults.append("\(session.id) stays invalidating") }
      if session.owesFinishedEvents { faults.append("\(session.id) did not send its didFinishEvents") }
      let calls = events.map(\.type).filter { $0 == .taskDidComplete || $0 == .sessionDidFinishEvents }
      for (first, second) in zip(calls, calls.dropFirst())
      where first == .sessionDidFinishEvents && second == .sessionDidFinishEvents {
        faults.append("\(session.id) sent didFinishEvents twice in a row")
      }
      if session.state == .active, calls.contains(.taskDidComplete), calls.last != .sessionDidFinishEvents {
        faults.append("\(session.id) did not send didFinishEvents after its last task")
      }
    }
  }

  private func checkAcknowledged(_ remains: Remains) {
    let sessions = Dictionary(uniqueKeysWithValues: remains.sessions.map { ($0.id, $0) })
    let tasks = Dictionary(uniqueKeysWithValues: remains.tasks.map { ($0.id, $0) })
    for id in acknowledged.sessions.subtracting(acknowledged.deleted) where sessions[id] == nil {
      faults.append("\(id) was acknowledged, but is lost")
    }
    for id in acknowledged.deleted where sessions[id] != nil {
      faults.append("\(id) was deleted, but still exists")
    }
    for id in acknowledged.invalidated where sessions[id].map({ $0.state != .invalid }) ?? false {
      faults.append("\(id) was invalidated, but is \(String(describing: sessions[id]?.state))")
    }
    guard acknowledged.deleted.isEmpty else { return }
    for id in acknowledged.tasks where tasks[id] == nil {
      faults.append("\(id) was acknowledged, but is lost")
    }
    for id in acknowledged.cancelled {
      guard let task = tasks[id], let error = task.error else { continue }
      if error.reason != .url(.cancelled) {
        faults.append("\(id) was cancelled, but ended with \(error.reason)")
      }
    }
    for id in acknowledged.answered {
      guard let decision = remains.decisions.first(where: { $0.id == id }), decision.state == .answered else {
        faults.append("\(id) was answered, but the ledger has no answer")
        continue
      }
    }
  }
}
