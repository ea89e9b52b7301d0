import Ledger
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferService

/// The reads of the ledger that the end of a group costs, and its end despite unreadable rows.
@Suite(.serialized, .endsInTime) struct GroupCostTests {
  private static func key(_ name: String) -> TaskGroupKey { TaskGroupKey(tenant: .default, name: name) }

  /// Creates suspended tasks of a group.
  private static func create(
    _ count: Int, _ group: String, in bench: LiveServiceBench
  ) async throws -> [TaskID] {
    var specification = TaskSpecification(kind: .data, request: TransferRequest(url: "http://a.test/"))
    specification.preferences.group = group
    let session = try bench.service.sessions.session(try await bench.session())
    let tasks = Array(repeating: specification, count: count)
    return try await bench.service.tasks.create(tasks, in: session).map(\.id)
  }

  @Test func `tasks are counted once, not at each end`() async throws {
    let counted = Counter()
    let bench = try await LiveServiceBench(.init(counted: { counted.add() }))
    let (groups, key) = (bench.service.groups, Self.key("g"))
    let tasks = try await Self.create(60, "g", in: bench)
    _ = try await groups.close(key, at: bench.service.identifiers.now())
    counted.reset()
    async let waiting = [
      groups.waitForEnd(of: key, seconds: 3600), groups.waitForEnd(of: key, seconds: 3600),
    ]
    for task in tasks { _ = try await bench.service.tasks.cancel(task) }
    for ended in try await waiting {
      #expect(ended.group.state == .completed && ended.counts.cancelled == 60)
    }
    #expect(counted.count == 1, "the waiting clients receive the counts of the completed group")
    await bench.stop()
  }

  @Test func `unreadable group delays no other`() async throws {
    let broken = UnreadableRow(kind: .group, id: "bad", place: "name", reason: "is changed", owner: nil)
    let bench = try await LiveServiceBench(.init(unreadable: { $0.name == "bad" ? broken : nil }))
    let names = ["bad"] + (0..<20).map { "g\($0)" }
    var change = LedgerChange()
    for name in names {
      for task in try await Self.create(1, name, in: bench) {
        _ = try await bench.service.tasks.cancel(task)
        await bench.service.tasks.waitForEnd(of: task, seconds: 3600)
      }
      change.closedGroups.append((Self.key(name), bench.service.identifiers.now()))
    }
    // Another service has closed them and died.
    try await bench.store.write(change)
    bench.service.groups.completer.add(nil)
    for name in names.dropFirst() {
      let ended = try await bench.service.groups.waitForEnd(of: Self.key(name), seconds: 3600)
      #expect(ended.group.state == .completed)
    }
    await bench.stop()
  }

  @Test func `group expires after its last task`() async throws {
    let time = Mutex(Timestamp(seconds: 1_800_000_000))
    let bench = try await LiveServiceBench(now: { time.withLock(\.self) })
    for task in try await Self.create(1, "g", in: bench) + Self.create(1, "open", in: bench) {
      _ = try await bench.service.tasks.cancel(task)
      await bench.service.tasks.waitForEnd(of: task, seconds: 3600)
    }
    _ = try await Self.create(1, "used", in: bench)
    _ = try await bench.service.groups.close(Self.key("g"), at: bench.service.identifiers.now())
    func left() async throws -> [String] {
      try await bench.service.groups.page(of: .default, after: nil, order: .oldest, limit: 9)
        .map(\.group.key.name).sorted()
    }
    _ = try await bench.service.prune(by: Retention())
    #expect(try await left() == ["g", "open", "used"])
    time.withLock { $0 = $0.adding(seconds: Retention().tasks + 1) }
    _ = try await bench.service.prune(by: Retention())
    #expect(try await left() == ["used"])
    await bench.stop()
  }
}

private final class Counter: Sendable {
  private let value = Mutex(0)
  var count: Int { value.withLock(\.self) }
  func add() { value.withLock { $0 += 1 } }
  func reset() { value.withLock { $0 = 0 } }
}
