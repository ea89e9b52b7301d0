import Crypto
import GRDB
import Ledger
import Records
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Facts and requests on a full disk, which a limit of the database's pages simulates.
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

  /// Limits the database to its present pages, or removes the limit.
  private func setFull(_ isFull: Bool) throws {
    try disk.writeWithoutTransaction { database in
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      let free = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
      #expect(free == 0)
      _ = try Int.fetchOne(database, sql: "PRAGMA max_page_count = \(isFull ? pages : 1_000_000)")
    }
  }

  private static func news(_ text: String) -> LedgerChange {
    var change = LedgerChange()
    // The text does not fit into the rest of a page.
    change.workerReports = [text, String(repeating: "x", count: 20_000)]
    return change
  }

  private func write(_ change: LedgerChange) async -> LedgerError? {
    await withCheckedContinuation { continuation in
      queue.append(.request(change) { continuation.resume(returning: $0) })
    }
  }

  private func expectFull(_ change: LedgerChange) async {
    let error = await write(change)
    guard case .full? = error else {
      Issue.record("expected the error full, not \(String(describing: error))")
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

  @Test func `failed request leaves nothing and sets no refusal`() async throws {
    try setFull(true)
    await expectFull(Self.news("a"))
    #expect(queue.refusal == nil)
    try setFull(false)
    #expect(try told() == [])
    await close()
  }

  /// After a full disk, the refusal ends with the first write, whether of a fact or a request.
  @Test(arguments: [1, 2, 5])
  func `facts wait for room and then end the refusal`(_ count: Int) async throws {
    try setFull(true)
    let committed = AsyncStream<Int>.makeStream()
    for number in 0..<count {
      queue.append(.fact(Self.news("\(number)")) { _ in committed.continuation.yield(number) })
    }
    // A later request is refused and does not wait. By then the facts were refused as well.
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
    // This request is in a later batch than the facts.
    #expect(await write(Self.news("after")) == nil)
    #expect(queue.refusal == nil)
    #expect(try told() == (0..<count).map { "\($0)" } + ["after"])
    await close()
  }

  /// A full disk must not look like a hanging thread.
  @Test func `full disk does not delay the answer to a ping`() async throws {
    try setFull(true)
    queue.append(.fact(Self.news("a")) { _ in })
    try await untilUnwell()
    for _ in 0..<3 { await withCheckedContinuation { continuation in queue.ping { continuation.resume() } } }
    #expect({ if case .full? = queue.refusal { true } else { false } }())
    try setFull(false)
    await close()
    #expect(try told() == ["a"])
  }

  @Test func `ping is answered without anything to write`() async throws {
    for _ in 0..<3 { await withCheckedContinuation { continuation in queue.ping { continuation.resume() } } }
    await close()
  }

  /// A writer that reports changes and does not write them.
  private struct RemoteError: NumberedWriter {
    let told: @Sendable (_ last: Int64) -> Void

    func write(_ change: LedgerChange, after last: Int64) -> Result<[JournalFragment], LedgerError> {
      told(last)
      return .success([])
    }
  }

  private static func event() -> LedgerChange {
    var change = LedgerChange()
    change.events = [TransferEvent(.sessionDidBecomeInvalid, at: .init(seconds: 1), session: .shared, .none)]
    return change
  }

  @Test func `full disk does not delay numbered entries`() async throws {
    let (told, numbers) = AsyncStream.makeStream(of: Int64.self)
    let elsewhere = RemoteError { numbers.yield($0) }
    var heard = told.makeAsyncIterator()
    try setFull(true)
    queue.append(.fact(Self.news("a")) { _ in })
    // More entries than one commit takes.
    for _ in 0..<1100 { queue.append(.fact(LedgerChange()) { _ in }) }
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

  /// Waits for the refusal, which is set just after the refused request has its answer.
  private func untilUnwell() async throws {
    while queue.refusal == nil { await Task.yield() }
  }

  @Test func `close ends on a full disk`() async throws {
    try setFull(true)
    for number in 0..<3 { queue.append(.fact(Self.news("\(number)")) { _ in }) }
    try await untilUnwell()
    await close()
    #expect(try told() == [])
  }

  @Test func `close writes waiting facts`() async throws {
    try setFull(true)
    queue.append(.fact(Self.news("a")) { _ in })
    try await untilUnwell()
    try setFull(false)
    await close()
    #expect(queue.refusal == nil)
    #expect(try told() == ["a"])
  }
}
