import Testing
import TransferModel

@testable import TransferService

@Suite struct TransferRegistryTests {
  private static let time = Timestamp(seconds: 1_800_000_000)
  private static func id<Kind>(_ number: Int) -> ID<Kind> {
    ID(at: time, random: (UInt64(number), UInt64(number)))
  }
  private static func entry(
    _ number: Int, in session: SessionID, hasBegun: Bool = false
  ) -> TransferRegistry.TaskEntry {
    var task = TransferTask(
      id: id(number), sessionID: session, taskIdentifier: number, createdAt: time,
      specification: TaskSpecification(kind: .data, request: TransferRequest(url: "http://a/\(number)")))
    task.startedAt = hasBegun ? time : nil
    return .init(task: task)
  }

  /// Where one is cancelled its place is free: what would take it must be gone by then.
  @Test func whatHasNotBegunIsCancelledFirstAndTheNewestOfIt() {
    var registry = TransferRegistry()
    for number in 1...6 {
      registry.insert(Self.entry(number, in: Self.id(1), hasBegun: number == 1 || number == 4))
    }
    registry.insert(Self.entry(7, in: Self.id(2)))
    let expected: [TaskID] = [6, 5, 3, 2, 4, 1].map { Self.id($0) }
    #expect(registry.tasksToCancel(in: Self.id(1)) == expected)
    #expect(registry.tasksToCancel(in: Self.id(2)) == [Self.id(7)])
    #expect(registry.tasksToCancel(in: Self.id(3)) == [])
  }

  @Test func aTaskThatIsForgottenIsInNoList() {
    var registry = TransferRegistry()
    registry.insert(Self.entry(1, in: Self.id(1)))
    #expect(registry.removeTask(Self.id(1))?.task.taskIdentifier == 1)
    #expect(registry.removeTask(Self.id(1)) == nil)
    #expect(registry.tasksToCancel(in: Self.id(1)) == [] && registry.tasks.count == 0)
  }

  @Test func entriesAreChangedInTheirPlace() {
    var table = TaskTable()
    table[Self.id(1)]?.isEnding = true
    #expect(table[Self.id(1)] == nil && table.count == 0)
    table[Self.id(1)] = Self.entry(1, in: Self.id(1))
    table[Self.id(1)]?.isEnding = true
    #expect(table[Self.id(1)]?.isEnding == true && table.values.map(\.isEnding) == [true])
    table[Self.id(1)] = nil
    #expect(table[Self.id(1)] == nil && table.count == 0)
    table[Self.id(2)] = Self.entry(2, in: Self.id(1))
    #expect(table.removeValue(forKey: Self.id(2))?.task.taskIdentifier == 2 && table.count == 0)
  }
}
