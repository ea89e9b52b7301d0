import Ledger
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// One reader at a time, in order, nothing twice, whoever rings when.
@Suite(.endsInTime) struct QueueReaderTests {
  /// A queue in memory that is read while it grows; what is taken stays, as it does until the store has written so.
  private final class Queue: Sendable {
    private struct State {
      var rows: [Int] = []
      var faults = 0
      var fetches: [Int64] = []
      var taken: [Int] = []
      var readers = 0
      var mostReaders = 0
    }
    private let state = Mutex(State())
    let page: Int
    /// Hears after each page, before it counts as taken.
    let pages: AsyncStream<[Int]>
    private let tellPage: AsyncStream<[Int]>.Continuation
    /// Hears of each fetch that found nothing, or failed.
    let ends: AsyncStream<Bool>
    private let tellEnd: AsyncStream<Bool>.Continuation

    init(_ rows: Int, page: Int = 3) {
      self.page = page
      (pages, tellPage) = AsyncStream.makeStream()
      (ends, tellEnd) = AsyncStream.makeStream()
      add(rows)
    }

    var taken: [Int] { state.withLock { $0.taken } }
    var fetches: [Int64] { state.withLock { $0.fetches } }
    var mostReaders: Int { state.withLock { $0.mostReaders } }

    func add(_ count: Int) {
      state.withLock { state in
        for _ in 0..<count { state.rows.append(state.rows.count + 1) }
      }
    }
    func failNext(_ count: Int) { state.withLock { $0.faults = count } }

    func fetch(_ after: Int64) throws(StoreError) -> [Queued<Int>] {
      let rows: [Queued<Int>]? = state.withLock { state in
        state.fetches.append(after)
        state.readers += 1
        state.mostReaders = max(state.mostReaders, state.readers)
        defer { state.readers -= 1 }
        guard state.faults == 0 else {
          state.faults -= 1
          return nil
        }
        return state.rows.filter { Int64($0) > after }.prefix(page).map {
          Queued(number: Int64($0), content: $0)
        }
      }
      if rows?.isEmpty ?? true { tellEnd.yield(rows != nil) }
      guard let rows else { throw .unavailable("not now") }
      return rows
    }

    func take(_ rows: [Queued<Int>]) {
      state.withLock { $0.taken += rows.map(\.content) }
      tellPage.yield(rows.map(\.content))
    }

    func reader(
      _ whileTaking: @escaping @Sendable ([Int]) async throws(StoreError) -> Void = { _ in }
    ) -> QueueReader<Int> {
      QueueReader { (after: Int64) async throws(StoreError) in
        try self.fetch(after)
      } take: { rows async throws(StoreError) in
        try await whileTaking(rows.map(\.content))
        self.take(rows)
      }
    }
  }

  /// Lets those who wait go on once it is opened.
  private actor Door {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    func pass() async {
      if !isOpen { await withCheckedContinuation { waiting.append($0) } }
    }
    func open() {
      isOpen = true
      for continuation in waiting { continuation.resume() }
      waiting = []
    }
  }

  @Test(arguments: [0, 1, 2, 3, 4, 6, 10])
  func allIsReadInOrderAndPageByPage(_ count: Int) async throws {
    let queue = Queue(count)
    try await queue.reader().readAll()
    #expect(queue.taken == Array(0..<count).map { $0 + 1 })
    let starts = stride(from: 0, to: Int64(count), by: 3).map { $0 } + [Int64(count)]
    #expect(queue.fetches == starts)
  }

  @Test func whatWasReadDoesNotComeAgain() async throws {
    let queue = Queue(2)
    let reader = queue.reader()
    try await reader.readAll()
    try await reader.readAll()
    queue.add(2)
    try await reader.readAll()
    #expect(queue.taken == [1, 2, 3, 4])
  }

  @Test func aRingStartsAReader() async {
    let queue = Queue(1)
    queue.reader().look()
    var pages = queue.pages.makeAsyncIterator()
    #expect(await pages.next() == [1])
  }

  /// Whoever rings while somebody reads makes that one look again: what came behind its last look is found.
  @Test func ringsWhileSomebodyReadsMakeThatOneLookAgain() async throws {
    let (queue, door) = (Queue(1), Door())
    let entered = AsyncStream<Void>.makeStream()
    let reader = queue.reader { (_: [Int]) async throws(StoreError) in
      entered.continuation.yield()
      await door.pass()
    }
    reader.look()
    var entries = entered.stream.makeAsyncIterator()
    await entries.next()
    // The reader holds its first page. None of these reads beside it.
    for _ in 0..<5 { reader.look() }
    try await reader.readAll()
    #expect(queue.fetches == [0])
    queue.add(1)
    await door.open()
    var ends = queue.ends.makeAsyncIterator()
    // The end of the first look, and of the one that was asked for: five rings are one.
    #expect(await ends.next() == true)
    #expect(await ends.next() == true)
    #expect(queue.taken == [1, 2])
    #expect(queue.fetches == [0, 1, 2, 2])
  }

  @Test func aFetchThatFailsLosesNothing() async throws {
    let queue = Queue(5)
    queue.failNext(1)
    let reader = queue.reader()
    await #expect(throws: StoreError.self) { try await reader.readAll() }
    #expect(queue.taken == [])
    try await reader.readAll()
    #expect(queue.taken == [1, 2, 3, 4, 5])
  }

  @Test func afterAFailureTheNextRingIsHeard() async {
    let queue = Queue(2)
    queue.failNext(1)
    let reader = queue.reader()
    var ends = queue.ends.makeAsyncIterator()
    reader.look()
    #expect(await ends.next() == false)
    // It may not be over yet: then this makes it look again, and otherwise it starts another.
    reader.look()
    #expect(await ends.next() == true)
    #expect(queue.taken == [1, 2])
  }

  @Test func rowsThatCouldNotBeTakenComeAgain() async throws {
    let queue = Queue(4)
    let failures = Atomic<Int>(1)
    let reader = queue.reader { (rows: [Int]) async throws(StoreError) in
      guard rows.contains(4), failures.load(ordering: .relaxed) > 0 else { return }
      failures.subtract(1, ordering: .relaxed)
      throw .unavailable("not now")
    }
    await #expect(throws: StoreError.self) { try await reader.readAll() }
    #expect(queue.taken == [1, 2, 3])
    try await reader.readAll()
    #expect(queue.taken == [1, 2, 3, 4])
  }

  @Test func manyRingersAndAQueueThatGrows() async {
    let queue = Queue(0, page: 7)
    let reader = queue.reader()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          for _ in 0..<50 {
            queue.add(1)
            reader.look()
          }
        }
      }
    }
    var pages = queue.pages.makeAsyncIterator()
    while queue.taken.count < 1000 { _ = await pages.next() }
    #expect(queue.taken == Array(1...1000))
    #expect(queue.mostReaders == 1)
  }
}
