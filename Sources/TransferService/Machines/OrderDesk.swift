internal import BlobStore
internal import EngineAPI
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Hands orders to whoever carries tasks out, and keeps those back that must not go out before a commit.
final class OrderDesk: Sendable {
  private let engine: any LocalCarrier
  /// Tasks with orders that wait for a commit, and how many.
  private let held = Mutex<[TaskID: Int]>([:])

  init(_ engine: any LocalCarrier) { self.engine = engine }

  /// What may go out at once, and what waits for the commit: a request that must be known of, and whatever comes behind it about its task.
  func divide(_ orders: [Order], behind change: StoreChange) -> (now: [Order], later: [Order]) {
    guard !orders.isEmpty else { return ([], []) }
    return held.withLock { held in
      var (now, later): ([Order], [Order]) = ([], [])
      for order in orders {
        guard let task = order.task, held[task] != nil || order.mustBeKnown && !change.isEmpty else {
          now.append(order)
          continue
        }
        held[task, default: 0] += 1
        later.append(order)
      }
      return (now, later)
    }
  }

  /// Orders that have waited went out.
  func release(_ orders: [Order]) {
    guard !orders.isEmpty else { return }
    held.withLock { held in
      for task in orders.compactMap(\.task) { held[task] = held[task] == 1 ? nil : (held[task] ?? 1) - 1 }
    }
  }

  /// - Parameter stamp: under which it is written what comes of them.
  func carryOut(_ orders: [Order], in session: TransferSession, writing stamp: @autoclosure () -> BlobStamp) {
    var jobs: [TransferJob] = []
    func submit() {
      if !jobs.isEmpty { engine.submit(jobs) }
      jobs = []
    }
    for order in orders {
      switch order {
      case .submit(let task): jobs.append(TransferJob(task, in: session, writing: stamp()))
      case .command(let command, let task):
        submit()
        engine.perform(command, on: task, in: session.id)
      case .forgetSession:
        submit()
        engine.forget(session.id)
      }
    }
    submit()
  }
}
