import Testing
import TransferModel

@testable import TransferCore

@Suite struct TaskTableTests {
  private static func task(_ number: UInt64) -> TransferTask {
    TransferTask(
      id: TaskID(high: 0, low: number), sessionID: .shared, taskIdentifier: Int(number),
      createdAt: Timestamp(seconds: 1),
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a.test")))
  }

  /// A copy of a table keeps its tasks unchanged.
  @Test func `change in place leaves copies of the table unchanged`() {
    var table = TaskTable()
    let id = Self.task(1).id
    #expect(table.change(id) { $0.executionState = .ending } == nil && table.count == 0)
    table.insert(TaskMachine(Self.task(2), at: .executing))
    table.insert(TaskMachine(Self.task(1), at: .executing))
    let before = table
    table.change(id) { $0.executionState = .ending }
    #expect(table[id]?.isEnding == true && before[id]?.executionState == .executing)
    #expect(table.ids == [id, Self.task(2).id])
    #expect(table.remove(id)?.id == id && table.remove(id) == nil && table.count == 1 && before.count == 2)
  }

  /// Found by the simulator: a service that had lost its shard loaded a row of its successor, and sent the request again unnoticed.
  @Test func `loaded task has begun if its row says so`() throws {
    var (table, row) = (TaskTable(), Self.task(1))
    table.insert(TaskMachine(row, at: .idle(goesOn: false)))
    let eviction = try #require(table.read(row.id) { Eviction(of: $0, above: 0) } ?? nil)
    table.evict(eviction)
    table.hadBegun(evicted: row.id)
    var (late, ahead) = (table, table)
    let isLoaded = late.load(row)
    #expect(isLoaded && late[row.id]?.task.firstAttempt == .announced)
    row.firstAttempt = .submitted
    let isAheadLoaded = ahead.load(row)
    #expect(isAheadLoaded && ahead[row.id]?.task.firstAttempt == .submitted)
  }

  /// Each cancellation makes room for a waiting task. The tasks that could use the room must be cancelled first.
  @Test func `cancellation starts with the newest task that has not begun`() {
    var stage = SessionMachineHarness()
    let ids = (1...6).map { _ in stage.create() }
    for index in [0, 3] { stage.fact(.began(ids[index], at: stage.now.wall)) }
    #expect(stage.machine.tasksToCancel() == [5, 4, 2, 1, 3, 0].map { ids[$0] })
  }
}
