import Crypto
import Foundation
import GRDB
import Ledger
import Processes
import Records
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Two processes that write to one database. Each ledger of the file stands for a process.
@Suite(.endsInTime) struct TwoWritersTests {
  private let path = TemporaryDirectory.make("ferry-writers") + "/test.db"
  private let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])

  /// Writes without a pause, as a worker with thousands of small downloads does, and counts the commits.
  private final class Glutton: Sendable {
    private let commits = Atomic<Int>(0)
    private let mustStop = Atomic<Bool>(false)
    private let store: SQLiteLedger

    init(_ store: SQLiteLedger) { self.store = store }

    var count: Int { commits.load(ordering: .relaxed) }
    func stop() { mustStop.store(true, ordering: .relaxed) }

    func run() async {
      await withTaskGroup(of: Void.self) { group in
        // While one task receives its callback, the next change waits.
        for _ in 0..<4 {
          group.addTask { [self] in
            while !mustStop.load(ordering: .relaxed) {
              await withCheckedContinuation { continuation in
                store.record(TwoWritersTests.change()) { continuation.resume() }
              }
              commits.add(1, ordering: .relaxed)
            }
          }
        }
      }
    }
  }

  private static func change() -> LedgerChange {
    var change = LedgerChange()
    change.workerReports = (0..<50).map { "\($0)" }
    return change
  }

  @Test func `busy writer does not block another process`() async throws {
    let busy = try SQLiteLedger(path: path, box: box) { _ in }
    let glutton = Glutton(busy)
    async let running: Void = glutton.run()
    while glutton.count < 20 { await Task.yield() }
    // Opening the database writes as well.
    let before = glutton.count
    let store = try SQLiteLedger(path: path, box: box) { _ in }
    let whileOpening = glutton.count - before
    var overtaken: [Int] = []
    for _ in 0..<30 {
      let before = glutton.count
      try await store.write(Self.change())
      overtaken.append(glutton.count - before)
    }
    glutton.stop()
    await running
    await store.close()
    await busy.close()
    // A commit may hold the changes of all four tasks, and two commits that had begun may precede the write.
    #expect(whileOpening <= 40, "\(whileOpening)")
    #expect(overtaken.sorted()[15] <= 16, "\(overtaken)")
    #expect(overtaken.reduce(0, +) <= 30 * 24, "\(overtaken)")
  }

  @Test func `blocked writer reports a refusal and recovers`() async throws {
    let file = DatabaseFile(path: path)
    let disk = try file.open(box, mayCreate: true) {}
    let writer = try LedgerWriter(
      disk: disk, turns: file.writeLock, patience: .milliseconds(20), box: box,
      unreadable: UnreadableRows(), numbers: EventNumbers(journal: 0, reserved: 0), tenants: [:],
      isHeard: false)
    let queue = CommitQueue(writer) { _ in }
    func write() async -> LedgerError? {
      await withCheckedContinuation { continuation in
        queue.append(.request(Self.change()) { continuation.resume(returning: $0) })
      }
    }
    let other = try #require(FairFileLock(path: path + "-turn"))
    #expect(other.lock(patience: .zero))
    guard case .unavailable? = await write() else {
      Issue.record("the write was not refused")
      return
    }
    #expect(queue.refusal != nil)
    let fact = AsyncStream<Void>.makeStream()
    queue.append(.fact(Self.change()) { _ in fact.continuation.yield() })
    other.unlock()
    var facts = fact.stream.makeAsyncIterator()
    await facts.next()
    #expect(await write() == nil)
    #expect(queue.refusal == nil)
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
    try disk.close()
  }
}
