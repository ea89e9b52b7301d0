internal import EventLoop
internal import Ledger
internal import Synchronization

/// Reads the new rows of a queue at each wake-up: one reader at a time, in order, each row once.
final class QueueReader<Content: Sendable>: Sendable {
  typealias Fetch = @Sendable (_ after: Int64) async throws(LedgerError) -> [QueueRow<Content>]
  typealias Take = @Sendable ([QueueRow<Content>]) async throws(LedgerError) -> Void

  private struct State {
    /// Wake-ups that were not handled yet.
    var wakeups = SerialDrain<Void>()
    var last: Int64 = 0
    /// Callers that wait until no reader is active.
    var waiting: [Waiter] = []
  }
  private let state = Mutex(State())
  private let spawn: TaskSpawner
  private let fetch: Fetch
  private let take: Take

  /// - Parameters:
  ///   - spawn: starts the tasks that read.
  ///   - take: handles a page of rows, and must get them deleted from the ledger. If it throws, the rows are read again.
  init(_ spawn: TaskSpawner = TaskSpawner(), fetch: @escaping Fetch, take: @escaping Take) {
    self.spawn = spawn
    self.fetch = fetch
    self.take = take
  }

  /// Reads new rows in a detached task.
  func poll() {
    guard enqueueWakeup() else { return }
    // If the read fails, the next wake-up tries again.
    spawn { [self] in try? await read() }
  }

  /// Reads all rows that exist now. If another reader is active, that reader reads again, and this call returns at once.
  /// - Parameter number: later rows are read only if they are on the same page.
  func readAll(through number: Int64 = .max) async throws(LedgerError) {
    guard enqueueWakeup() else { return }
    try await read(through: number)
  }

  /// Reads all existing rows again, from the beginning.
  /// - Parameters:
  ///   - number: later rows are read only if they are on the same page.
  ///   - begin: called when no other reader is active, before the first read.
  func readAllAgain(through number: Int64, _ begin: () -> Void = {}) async throws(LedgerError) {
    while true {
      let waiter = Waiter()
      if claim(else: waiter) { break }
      await waiter.wait()
    }
    begin()
    state.withLock { $0.last = 0 }
    try await read(through: number)
  }

  /// Makes the caller the reader. Otherwise adds it to the waiting callers.
  private func claim(else waiter: Waiter) -> Bool {
    state.withLock { state in
      guard state.wakeups.isDraining else { return state.wakeups.enqueue(()) }
      state.waiting.append(waiter)
      return false
    }
  }

  /// Makes the caller the reader, or makes the active reader read again.
  private func enqueueWakeup() -> Bool { state.withLock { $0.wakeups.enqueue(()) } }

  private func read(through number: Int64 = .max) async throws(LedgerError) {
    var fault: LedgerError?
    while !state.withLock({ $0.wakeups.dequeueAll() }).isEmpty {
      fault = nil
      do throws(LedgerError) { try await readPages(through: number) } catch { fault = error }
    }
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
    if let fault { throw fault }
  }

  private func readPages(through number: Int64) async throws(LedgerError) {
    var last = state.withLock { $0.last }
    while last < number {
      let rows = try await fetch(last)
      guard let final = rows.last?.number else { return }
      try await take(rows)
      state.withLock { $0.last = final }
      last = final
    }
  }
}
