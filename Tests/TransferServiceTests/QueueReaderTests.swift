import Ledger
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// One reader at a time, in order, each row once, whatever the order of wake-ups.
@Suite(.endsInTime) struct QueueReaderTests {
  /// A queue in memory that grows while it is read. Rows stay until the reader has taken them.
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
    /// Each page, just after it was taken.
    let pages: AsyncStream<[Int]>
    private let tellPage: AsyncStream<[Int]>.Continuation
    /// Each fetch without rows: `true` if it found none, `false` if it failed.
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

    func fetch(_ after: Int64) throws(LedgerError) -> [QueueRow<Int>] {
      let rows: [QueueRow<Int>]? = state.withLock { state in
        state.fetches.append(after)
        state.readers += 1
        state.mostReaders = max(state.mostReaders, state.readers)
        defer { state.readers -= 1 }
        guard state.faults == 0 else {
          state.faults -= 1
          return nil
        }
        return state.rows.filter { Int64($0) > after }.prefix(page).map {
          QueueRow(number: Int64($0), content: $0)
        }
      }
      if rows?.isEmpty ?? true { tellEnd.yield(rows != nil) }
      guard let rows else { throw .unavailable("not now") }
      return rows
    }

    func take(_ rows: [QueueRow<Int>]) {
      state.withLock { $0.taken += rows.map(\.content) }
      tellPage.yield(rows.map(\.content))
    }

    func reader(
      _ whileTaking: @escaping @Sendable ([Int]) async throws(LedgerError) -> Void = { _ in }
    ) -> QueueReader<Int> {
      QueueReader { (after: Int64) async throws(LedgerError) in
        try self.fetch(after)
      } take: { rows async throws(LedgerError) in
        try await whileTaking(rows.map(\.content))
        self.take(rows)
      }
    }
  }

  /// Blocks its callers until it is opened.
  private actor Gate {
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
  func `rows are read in order, page by page`(_ count: Int) async throws {
    let queue = Queue(count)
    try await queue.reader().readAll()
    #expect(queue.taken == Array(0..<count).map { $0 + 1 })
    let starts = stride(from: 0, to: Int64(count), by: 3).map { $0 } + [Int64(count)]
    #expect(queue.fetches == starts)
  }

  @Test func `rows that were read are not read again`() async throws {
    let queue = Queue(2)
    let reader = queue.reader()
    try await reader.readAll()
    try await reader.readAll()
    queue.add(2)
    try await reader.readAll()
    #expect(queue.taken == [1, 2, 3, 4])
  }

  @Test func `wakeup starts a reader`() async {
    let queue = Queue(1)
    queue.reader().poll()
    var pages = queue.pages.makeAsyncIterator()
    #expect(await pages.next() == [1])
  }

  /// A wake-up during a read makes the active reader read again, so it finds later rows.
  @Test func `wakeups during a read make the reader read again`() async throws {
    let (queue, door) = (Queue(1), Gate())
    let entered = AsyncStream<Void>.makeStream()
    let reader = queue.reader { (_: [Int]) async throws(LedgerError) in
      entered.continuation.yield()
      await door.pass()
    }
    reader.poll()
    var entries = entered.stream.makeAsyncIterator()
    await entries.next()
    // The reader has its first page. None of these calls starts a second reader.
    for _ in 0..<5 { reader.poll() }
    try await reader.readAll()
    #expect(queue.fetches == [0])
    queue.add(1)
    await door.open()
    var ends = queue.ends.makeAsyncIterator()
    // One end for the first read and one for the second. The five wake-ups count as one.
    #expect(await ends.next() == true)
    #expect(await ends.next() == true)
    #expect(queue.taken == [1, 2])
    #expect(queue.fetches == [0, 1, 2, 2])
  }

  @Test func `failed fetch loses no row`() async throws {
    let queue = Queue(5)
    queue.failNext(1)
    let reader = queue.reader()
    await #expect(throws: LedgerError.self) { try await reader.readAll() }
    #expect(queue.taken == [])
    try await reader.readAll()
    #expect(queue.taken == [1, 2, 3, 4, 5])
  }

  @Test func `wakeup after a failed fetch reads the rows`() async {
    let queue = Queue(2)
    queue.failNext(1)
    let reader = queue.reader()
    var ends = queue.ends.makeAsyncIterator()
    reader.poll()
    #expect(await ends.next() == false)
    // The failed read may not be over yet. Then this wake-up makes it read again; otherwise it starts another.
    reader.poll()
    #expect(await ends.next() == true)
    #expect(queue.taken == [1, 2])
  }

  @Test func `rows that could not be taken are read again`() async throws {
    let queue = Queue(4)
    let failures = Atomic<Int>(1)
    let reader = queue.reader { (rows: [Int]) async throws(LedgerError) in
      guard rows.contains(4), failures.load(ordering: .relaxed) > 0 else { return }
      failures.subtract(1, ordering: .relaxed)
      throw .unavailable("not now")
    }
    await #expect(throws: LedgerError.self) { try await reader.readAll() }
    #expect(queue.taken == [1, 2, 3])
    try await reader.readAll()
    #expect(queue.taken == [1, 2, 3, 4])
  }

  @Test func `many concurrent wakeups read each row once`() async {
    let queue = Queue(0, page: 7)
    let reader = queue.reader()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          for _ in 0..<50 {
            queue.add(1)
            reader.poll()
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
