import Ledger
import MemoryLedger
import SimulatedStores
import Simulation
import Synchronization
import TransferCore
import TransferModel

@testable import TransferService

/// What must hold when all is done, whatever crashed on the way.
extension World {
  /// The status that a script gives where an answer is to another question than it asked.
  static let wrongAnswer = 599

  private struct Remains: Sendable {
    var sessions: [TransferSession] = []
    var tasks: [TransferTask] = []
    var decisions: [Decision] = []
    var events: [(session: SessionID, task: TaskID?, type: EventType)] = []
    var commands = 0
    var news = 0
    var work = 0
    var due: Timestamp?
  }

  func check() {
    guard let remains = read({ try await Self.remains(of: $0) }) else { return }
    faults += origin.faults
    checkNothingWaits(remains)
    checkTasks(remains)
    checkSessions(remains)
    checkAcknowledged(remains)
    for decision in remains.decisions where decision.state == .pending {
      faults.append("a decision waits for ever: \(decision.type)")
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
    remains.news = try await store.news(after: 0, limit: 1000).count
    remains.work = try await store.work().count
    remains.due = try await store.nextDeliveryTime()
    return remains
  }

  private func checkNothingWaits(_ remains: Remains) {
    let room = service.service.room
    if !room.isIdle { faults.append("somebody waits, or something is to be carried out") }
    for session in room.sessions() {
      if room.look(at: session.id, { $0.unfinished }) != 0 { faults.append("a session has tasks") }
      if room.look(at: session.id, { $0.hasHandedOver }) != true {
        faults.append("a session has not handed everything over")
      }
    }
    if let worker, !worker.worker.isIdle { faults.append("the worker is not idle") }
    if let worker, !worker.worker.isQuiet {
      faults.append("the worker takes something for active")
    }
    let queues = (remains.commands, remains.news, remains.work)
    if queues != (0, 0, 0) { faults.append("commands, news, work wait: \(queues)") }
    if remains.due != nil { faults.append("a message waits for ever") }
  }

  private func checkTasks(_ remains: Remains) {
    for task in remains.tasks {
      let types = remains.events.filter { $0.task == task.id }.map(\.type)
      let ends = types.count { $0 == .taskDidComplete } + types.count { $0 == .dataTaskDidBecomeDownloadTask }
      if task.state != .completed { faults.append("\(task.id) is \(task.state) for ever") }
      if ends != 1 { faults.append("\(task.id) has ended \(ends) times: \(types.map(\.rawValue))") }
      if types.first != .taskDidCreate {
        faults.append("\(task.id) begins with \(String(describing: types.first))")
      }
      if let last = types.last, last != .taskDidComplete, last != .dataTaskDidBecomeDownloadTask {
        faults.append("\(task.id) tells \(last.rawValue) behind its end")
      }
      if task.response?.status == Self.wrongAnswer { faults.append("an answer reached another question") }
      checkMessages(of: task, remains.sessions.first { $0.id == task.sessionID })
      let requests = origin.unsafeRequests[task.id] ?? 0
      if requests > 1 + task.retryCount {
        faults.append("\(task.id): \(requests) requests went out, and \(task.retryCount) retries were told")
      }
    }
  }

  /// An end is told by one message, however often that is sent.
  private func checkMessages(of task: TransferTask, _ session: TransferSession?) {
    let ends = Set(sent.filter { $0.taskID == task.id && $0.type == .taskDidComplete }.map(\.id)).count
    let isWanted = session?.delegate?.events.contains(.taskDidComplete) == true && task.downloadTask == nil
    if ends != (isWanted ? 1 : 0) { faults.append("\(ends) messages told the end of \(task.id)") }
  }

  private func checkSessions(_ remains: Remains) {
    for session in remains.sessions {
      let events = remains.events.filter { $0.session == session.id }
      let invalid = events.count { $0.type == .sessionDidBecomeInvalid }
      if invalid != (session.state == .invalid ? 1 : 0) {
        faults.append("\(session.id) is \(session.state) and became invalid \(invalid) times")
      }
      if invalid > 0, events.last?.type != .sessionDidBecomeInvalid {
        faults.append("\(session.id) tells \(events.last?.type.rawValue ?? "") behind its end")
      }
      guard session.type == .background else { continue }
      if session.state == .invalidating { faults.append("\(session.id) is being invalidated for ever") }
      if session.owesFinishedEvents { faults.append("\(session.id) owes didFinishEvents") }
      let calls = events.map(\.type).filter { $0 == .taskDidComplete || $0 == .sessionDidFinishEvents }
      for (first, second) in zip(calls, calls.dropFirst())
      where first == .sessionDidFinishEvents && second == .sessionDidFinishEvents {
        faults.append("\(session.id) told didFinishEvents twice")
      }
      if session.state == .active, calls.contains(.taskDidComplete), calls.last != .sessionDidFinishEvents {
        faults.append("\(session.id) did not tell didFinishEvents")
      }
    }
  }

  private func checkAcknowledged(_ remains: Remains) {
    let sessions = Dictionary(uniqueKeysWithValues: remains.sessions.map { ($0.id, $0) })
    let tasks = Dictionary(uniqueKeysWithValues: remains.tasks.map { ($0.id, $0) })
    for id in acknowledged.sessions.subtracting(acknowledged.deleted) where sessions[id] == nil {
      faults.append("\(id) was acknowledged and is lost")
    }
    for id in acknowledged.deleted where sessions[id] != nil {
      faults.append("\(id) is there though deleted")
    }
    for id in acknowledged.invalidated where sessions[id].map({ $0.state != .invalid }) ?? false {
      faults.append("\(id) was invalidated and is \(String(describing: sessions[id]?.state))")
    }
    guard acknowledged.deleted.isEmpty else { return }
    for id in acknowledged.tasks where tasks[id] == nil {
      faults.append("\(id) was acknowledged and is lost")
    }
    for id in acknowledged.cancelled {
      guard let task = tasks[id], let error = task.error else { continue }
      if error.reason != .url(.cancelled) {
        faults.append("\(id) was cancelled and ended with \(error.reason)")
      }
    }
    for id in acknowledged.answered {
      guard let decision = remains.decisions.first(where: { $0.id == id }), decision.state == .answered else {
        faults.append("\(id) was answered, and the store does not know it")
        continue
      }
    }
  }
}
