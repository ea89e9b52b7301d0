internal import BlobStore
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferEngine
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
    for order in orders {
      if case .submit(let task) = order {
        jobs.append(TransferJob(task, in: session, writing: stamp()))
      } else {
        submit(&jobs)
        carryOut(order, in: session.id)
      }
    }
    submit(&jobs)
  }

  private func submit(_ jobs: inout [TransferJob]) {
    if !jobs.isEmpty { engine.submit(jobs) }
    jobs = []
  }

  private func carryOut(_ order: Order, in session: SessionID) {
    switch order {
    case .submit: assertionFailure("they go together")
    case .suspend(let task): engine.suspend(task, in: session)
    case .resume(let task): engine.resume(task, in: session)
    case .cancel(let task, let keepsPartial): engine.cancel(task, in: session, keepsPartial: keepsPartial)
    case .answer(let task, let question, let answer):
      // The engine numbers all that it asks.
      if let question { engine.answer(task, in: session, to: question, answer) }
    case .setPriority(let task, let priority): engine.setPriority(priority, of: task, in: session)
    case .setLimit(let task, let bytesPerSecond): engine.setLimit(bytesPerSecond, of: task, in: session)
    // It gets tasks when their time has come.
    case .setBeginDate: break
    case .forgetSession: engine.forget(session)
    }
  }
}
