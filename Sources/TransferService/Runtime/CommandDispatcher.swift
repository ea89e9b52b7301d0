internal import BlobStore
internal import EngineAPI
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Dispatches commands to the engine, and delays the commands that must wait for a commit.
final class CommandDispatcher: Sendable {
  private let engine: any TransferExecuting
  /// The number of delayed commands for each task.
  private let held = Mutex<[TaskID: Int]>([:])

  init(_ engine: any TransferExecuting) { self.engine = engine }

  /// Divides commands into those that may go out now and those that wait for the commit. Non-idempotent requests wait (RFC 9110
  /// §9.2.2), and so do all later commands for the same task.
  func partition(_ commands: [TransferCommand], behind change: LedgerChange) -> (
    now: [TransferCommand], later: [TransferCommand]
  ) {
    guard !commands.isEmpty else { return ([], []) }
    return held.withLock { held in
      var (now, later): ([TransferCommand], [TransferCommand]) = ([], [])
      for command in commands {
        guard let task = command.task, held[task] != nil || command.waitsForCommit && !change.isEmpty else {
          now.append(command)
          continue
        }
        held[task, default: 0] += 1
        later.append(command)
      }
      return (now, later)
    }
  }

  /// Notes that delayed commands were dispatched or dropped.
  func release(_ commands: [TransferCommand]) {
    guard !commands.isEmpty else { return }
    held.withLock { held in
      for task in commands.compactMap(\.task) { held[task] = held[task] == 1 ? nil : (held[task] ?? 1) - 1 }
    }
  }

  /// - Parameter stamp: the stamp of the blobs that the engine writes for these commands.
  func dispatch(
    _ commands: [TransferCommand], in session: TransferSession, writing stamp: @autoclosure () -> BlobStamp
  ) {
    var jobs: [TransferJob] = []
    func submit() {
      if !jobs.isEmpty { engine.submit(jobs) }
      jobs = []
    }
    for command in commands {
      switch command {
      case .submit(let task): jobs.append(TransferJob(task, in: session, writing: stamp()))
      case .command(let command, let task):
        submit()
        engine.perform(command, on: task, in: session.id)
      case .releaseSession:
        submit()
        engine.releaseSession(session.id)
      }
    }
    submit()
  }
}
