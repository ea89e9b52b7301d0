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

/// Two processes write to one database. Two stores on the same file are to each other as those are.
@Suite(.endsInTime) struct TwoWritersTests {
  private let path = TemporaryDirectory.make("ferry-writers") + "/test.db"
  private let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])

  /// Writes without a pause, as a worker does that has thousands of small downloads; counts its commits.
  private final class Glutton: Sendable {
    private let commits = Atomic<Int>(0)
    private let mustStop = Atomic<Bool>(false)
    private let store: SQLiteLedger

    init(_ store: SQLiteLedger) { self.store = store }

    var count: Int { commits.load(ordering: .relaxed) }
    func stop() { mustStop.store(true, ordering: .relaxed) }

    func run() async {
      await withTaskGroup(of: Void.self) { group in
        // While one is told of its commit, the next waits.
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

  private static func change() -> StoreChange {
    var change = StoreChange()
    change.news = (0..<50).map { "\($0)" }
    return change
  }

  @Test func oneThatWritesAllTheTimeKeepsNobodyOut() async throws {
    let busy = try SQLiteLedger(path: path, box: box) { _ in }
    let glutton = Glutton(busy)
    async let running: Void = glutton.run()
    while glutton.count < 20 { await Task.yield() }
    // Opening writes as well.
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
    // One commit may hold what all four of its tasks have written, and two commits may come between: those that were on the way.
    #expect(whileOpening <= 40, "\(whileOpening)")
    #expect(overtaken.sorted()[15] <= 16, "\(overtaken)")
    #expect(overtaken.reduce(0, +) <= 30 * 24, "\(overtaken)")
  }

  @Test func whoIsKeptOutSaysSoAndGoesOnByItself() async throws {
    let file = DatabaseFile(path: path)
    let disk = try file.open(box, mayCreate: true) {}
    let writer = try LedgerWriter(
      disk: disk, turns: file.turns, patience: .milliseconds(20), box: box,
      unreadable: UnreadableRows(), numbers: EventNumbers(journal: 0, reserved: 0), tenants: [:],
      isHeard: false)
    let queue = CommitQueue(writer) { _ in }
    func write() async -> StoreError? {
      await withCheckedContinuation { continuation in
        queue.append(.request(Self.change()) { continuation.resume(returning: $0) })
      }
    }
    let other = try #require(Turnstile(path: path + "-turn"))
    #expect(other.enter(patience: .zero))
    guard case .unavailable? = await write() else {
      Issue.record("it was not refused")
      return
    }
    #expect(queue.refusal != nil)
    let fact = AsyncStream<Void>.makeStream()
    queue.append(.fact(Self.change()) { _ in fact.continuation.yield() })
    other.leave()
    var facts = fact.stream.makeAsyncIterator()
    await facts.next()
    #expect(await write() == nil)
    #expect(queue.refusal == nil)
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
    try disk.close()
  }
}
