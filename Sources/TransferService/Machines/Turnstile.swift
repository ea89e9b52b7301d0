internal import Synchronization
internal import TransferModel

/// Lets one party at a time in to each session, in the order of their arrival.
final class Turnstile: Sendable {
  private let queues = Mutex<[SessionID: [Waiter]]>([:])

  func enter(_ session: SessionID) async {
    let waiter: Waiter? = queues.withLock { queues in
      guard queues[session] != nil else {
        queues[session] = []
        return nil
      }
      let waiter = Waiter()
      queues[session]?.append(waiter)
      return waiter
    }
    await waiter?.wait()
  }

  func leave(_ session: SessionID) {
    let next: Waiter? = queues.withLock { queues in
      guard let first = queues[session]?.first else {
        queues[session] = nil
        return nil
      }
      queues[session]?.removeFirst()
      return first
    }
    next?.resume()
  }
}
