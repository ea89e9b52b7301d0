import Ledger
import Testing
import TransferModel

/// The contract for the deletion of a session in slices.
struct SessionDeletionConformance {
  static let cases: [ConformanceCase] = [
    .init("deletionInSlicesLeavesOtherSessions") {
      try await Self().deletionInSlicesLeavesOtherSessions($0)
    }
  ]

  private static let time = Timestamp(seconds: 1_800_000_000)
  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }

  private static func task(_ number: UInt64, in session: SessionID) -> TransferTask {
    TransferTask(
      id: id(number), sessionID: session, taskIdentifier: Int(number), createdAt: time,
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/\(number)")))
  }

  private static func fill(_ change: inout LedgerChange, _ tasks: ClosedRange<UInt64>, in session: SessionID)
  {
    change.createdTasks += tasks.map { task($0, in: session) }
    change.events += tasks.map {
      TransferEvent(
        .taskDidChangeState, at: time, session: session, task: id($0), .stateChanged(.running, nil))
    }
  }

  func deletionInSlicesLeavesOtherSessions(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let store = try bench.open()
    let count = UInt64(2 * LedgerChange.thinningSlice + 1)
    let (large, small): (SessionID, SessionID) = (Self.id(1), Self.id(2))
    var change = LedgerChange()
    Self.fill(&change, 10...10, in: small)
    Self.fill(&change, 1000...1000 + count - 1, in: large)
    try await store.write(change)
    let last = store.lastSequence
    var slices = 0
    while try await store.hasTasks(large) {
      var change = LedgerChange()
      change.partlyDeletedSession = large
      #expect(!change.isEmpty)
      try await store.write(change)
      slices += 1
    }
    #expect(slices == 3)
    change = LedgerChange()
    change.deletedSession = large
    try await store.write(change)
    let tasks = try await store.tasks([Self.id(10), Self.id(1000)] as [TaskID])
    #expect(tasks.map(\.id) == [Self.id(10)])
    for (session, tasks) in [(large, []), (small, [Self.id(10)])] as [(SessionID, [TaskID])] {
      let page = try await store.journal(.session(session), after: 0, maximumBytes: 1 << 20)
      #expect(page.fragments.compactMap(\.taskID) == tasks)
    }
    await store.close()
    // Numbers of deleted events are not assigned again.
    let next = try bench.open()
    #expect(next.highestSequence == last)
    await next.close()
  }
}
