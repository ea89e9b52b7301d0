internal import EventLoop
internal import Ledger
internal import Synchronization

/// Reads a queue of the store on to its end whenever somebody rings: one reader at a time, in order, nothing twice.
final class QueueReader<Content: Sendable>: Sendable {
  typealias Fetch = @Sendable (_ after: Int64) async throws(StoreError) -> [Queued<Content>]
  typealias Take = @Sendable ([Queued<Content>]) async throws(StoreError) -> Void

  private struct State {
    /// Rings that were not answered yet.
    var rings = SerialDrain<Void>()
    var last: Int64 = 0
    /// Those who wait until nobody reads.
    var waiting: [Waiter] = []
  }
  private let state = Mutex(State())
  private let spawn: Spawn
  private let fetch: Fetch
  private let take: Take

  /// - Parameters:
  ///   - spawn: how it reads beside whoever rings.
  ///   - take: hears the rows of each page; it has to see to it that they go from the store. Rows that it could not take come
  ///     again.
  init(_ spawn: Spawn = Spawn(), fetch: @escaping Fetch, take: @escaping Take) {
    self.spawn = spawn
    self.fetch = fetch
    self.take = take
  }

  /// There may be news.
  func look() {
    guard ring() else { return }
    // What cannot be read now is read at the next ring.
    spawn { [self] in try? await read() }
  }

  /// Reads what there is now. Where somebody does so already, that one looks again, and this returns at once.
  /// - Parameter number: rows behind that one are read where they are on its page, and else left to the next look.
  func readAll(through number: Int64 = .max) async throws(StoreError) {
    guard ring() else { return }
    try await read(through: number)
  }

  /// What is still there comes again: all of it is read, from its beginning.
  /// - Parameters:
  ///   - number: rows behind that one are read where they are on its page, and else left to the next look.
  ///   - begin: is called when nothing else is being read, and nothing of it yet.
  func readAllAgain(through number: Int64, _ begin: () -> Void = {}) async throws(StoreError) {
    while true {
      let waiter = Waiter()
      if claim(else: waiter) { break }
      await waiter.wait()
    }
    begin()
    state.withLock { $0.last = 0 }
    try await read(through: number)
  }

  /// Makes the caller the reader, or lets it wait until nobody reads.
  private func claim(else waiter: Waiter) -> Bool {
    state.withLock { state in
      guard state.rings.isDraining else { return state.rings.enqueue(()) }
      state.waiting.append(waiter)
      return false
    }
  }

  /// Makes the caller the reader, or the reader look again.
  private func ring() -> Bool { state.withLock { $0.rings.enqueue(()) } }

  private func read(through number: Int64 = .max) async throws(StoreError) {
    var fault: StoreError?
    while !state.withLock({ $0.rings.take() }).isEmpty {
      fault = nil
      do throws(StoreError) { try await readPages(through: number) } catch { fault = error }
    }
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
    if let fault { throw fault }
  }

  private func readPages(through number: Int64) async throws(StoreError) {
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
