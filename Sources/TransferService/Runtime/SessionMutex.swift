internal import EventLoop
internal import Synchronization
internal import TransferModel

/// An async mutex for each session. Waiters receive it in the order of their arrival.
final class SessionMutex: Sendable {
  private let queues = Mutex<[SessionID: [Waiter]]>([:])

  func lock(_ session: SessionID) async {
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

  func unlock(_ session: SessionID) {
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
