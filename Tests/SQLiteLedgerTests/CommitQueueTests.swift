import Crypto
import GRDB
import Ledger
import Records
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// What becomes of facts and requests while the disk is full. It is made so by a limit to the database's pages.
@Suite(.endsInTime) struct CommitQueueTests {
  private let disk: DatabasePool
  private let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
  private let queue: CommitQueue

  init() throws {
    disk = try DatabasePool(path: TemporaryDirectory.make("ferry-commits") + "/test.db")
    try Migrations.migrator(box).migrate(disk)
    let writer = try LedgerWriter(
      disk: disk, turns: nil, patience: .seconds(5), box: box, unreadable: UnreadableRows(),
      numbers: EventNumbers(journal: 0, reserved: 0), tenants: [:], isHeard: false)
    queue = CommitQueue(writer, lastPatience: .milliseconds(100)) { _ in }
  }

  /// From here on no page more, or as many as there is need for.
  private func setFull(_ isFull: Bool) throws {
    try disk.writeWithoutTransaction { database in
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      let free = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
      #expect(free == 0)
      _ = try Int.fetchOne(database, sql: "PRAGMA max_page_count = \(isFull ? pages : 1_000_000)")
    }
  }

  private static func news(_ text: String) -> StoreChange {
    var change = StoreChange()
    // More than a page that is begun has room for.
    change.news = [text, String(repeating: "x", count: 20_000)]
    return change
  }

  private func write(_ change: StoreChange) async -> StoreError? {
    await withCheckedContinuation { continuation in
      queue.append(.request(change) { continuation.resume(returning: $0) })
    }
  }

  private func expectFull(_ change: StoreChange) async {
    let error = await write(change)
    guard case .full? = error else {
      Issue.record("it was not refused for want of room: \(String(describing: error))")
      return
    }
  }

  private func told() throws -> [String] {
    try disk.read { try String.fetchAll($0, sql: "SELECT sealed FROM news ORDER BY number") }
      .compactMap { box.open($0) }.filter { !$0.hasPrefix("x") }
  }

  private func close() async {
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
  }

  @Test func aRequestThatFailsLeavesNothingAndNobodyUnwell() async throws {
    try setFull(true)
    await expectFull(Self.news("a"))
    #expect(queue.refusal == nil)
    try setFull(false)
    #expect(try told() == [])
    await close()
  }

  /// A store that was full is healthy again as soon as something was written, whichever way that came.
  @Test(arguments: [1, 2, 5])
  func factsWaitForRoomAndThenAllIsWell(_ count: Int) async throws {
    try setFull(true)
    let committed = AsyncStream<Int>.makeStream()
    for number in 0..<count {
      queue.append(.fact(Self.news("\(number)")) { _ in committed.continuation.yield(number) })
    }
    // A request behind them is refused rather than kept waiting; by then the facts were as well.
    await expectFull(Self.news("request"))
    try await untilUnwell()
    #expect(try told() == [])
    try setFull(false)
    var order: [Int] = []
    for await number in committed.stream {
      order.append(number)
      if order.count == count { break }
    }
    #expect(order == Array(0..<count))
    // It comes in a batch behind theirs.
    #expect(await write(Self.news("after")) == nil)
    #expect(queue.refusal == nil)
    #expect(try told() == (0..<count).map { "\($0)" } + ["after"])
    await close()
  }

  /// A disk that takes nothing is not a thread that hangs.
  @Test func itAnswersWhileFactsWait() async throws {
    try setFull(true)
    queue.append(.fact(Self.news("a")) { _ in })
    try await untilUnwell()
    for _ in 0..<3 { await withCheckedContinuation { continuation in queue.ping { continuation.resume() } } }
    #expect({ if case .full? = queue.refusal { true } else { false } }())
    try setFull(false)
    await close()
    #expect(try told() == ["a"])
  }

  @Test func itAnswersWhereThereIsNothingToWrite() async throws {
    for _ in 0..<3 { await withCheckedContinuation { continuation in queue.ping { continuation.resume() } } }
    await close()
  }

  /// Reports the change instead of writing it.
  private struct Elsewhere: NumberedWriter {
    let told: @Sendable (_ last: Int64) -> Void

    func write(_ change: StoreChange, after last: Int64) -> Result<[JournalFragment], StoreError> {
      told(last)
      return .success([])
    }
  }

  private static func event() -> StoreChange {
    var change = StoreChange()
    change.events = [TransferEvent(.sessionDidBecomeInvalid, at: .init(seconds: 1), session: .shared, .none)]
    return change
  }

  @Test func numberedEntriesAreWrittenWhileFactsWaitForTheDisk() async throws {
    let (told, numbers) = AsyncStream.makeStream(of: Int64.self)
    let elsewhere = Elsewhere { numbers.yield($0) }
    var heard = told.makeAsyncIterator()
    try setFull(true)
    queue.append(.fact(Self.news("a")) { _ in })
    // Exceeds one commit's limit.
    for _ in 0..<1100 { queue.append(.fact(StoreChange()) { _ in }) }
    try await untilUnwell()
    for last in 0..<3 {
      queue.append(.numbered(.fact(Self.event()) { _ in }, by: elsewhere))
      #expect(await heard.next() == Int64(last))
    }
    let error = await withCheckedContinuation { continuation in
      queue.append(
        .numbered(.request(Self.event()) { continuation.resume(returning: $0) }, by: elsewhere))
    }
    #expect(error == nil)
    #expect(queue.refusal != nil)
    try setFull(false)
    await close()
    #expect(try self.told() == ["a"])
  }

  /// The refused request is told before the facts are put back: this follows at once.
  private func untilUnwell() async throws {
    while queue.refusal == nil { await Task.yield() }
  }

  /// Whoever is to end, ends.
  @Test func closingEndsWhereThereIsNoRoom() async throws {
    try setFull(true)
    for number in 0..<3 { queue.append(.fact(Self.news("\(number)")) { _ in }) }
    try await untilUnwell()
    await close()
    #expect(try told() == [])
  }

  @Test func closingWritesWhatWaited() async throws {
    try setFull(true)
    queue.append(.fact(Self.news("a")) { _ in })
    try await untilUnwell()
    try setFull(false)
    await close()
    #expect(queue.refusal == nil)
    #expect(try told() == ["a"])
  }
}
