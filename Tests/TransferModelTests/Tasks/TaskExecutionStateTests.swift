import Testing

@testable import TransferModel

@Suite struct TaskExecutionStateTests {
  private static let idle = [TaskExecutionState.idle(goesOn: false), .idle(goesOn: true)]
  private static let places =
    [.creating] + idle + [.unconfirmed, .executing, .leaving]
    + [.restarting(isMoved: false), .ending]

  @Test(
    arguments: [
      (.creating, idle), (.idle(goesOn: false), idle + [.executing, .ending]),
      (.idle(goesOn: true), idle + [.executing, .ending]), (.unconfirmed, idle + [.executing, .ending]),
      (.executing, idle + [.leaving, .restarting(isMoved: false), .ending]),
      (.leaving, idle + [.restarting(isMoved: false), .ending]),
      (.restarting(isMoved: true), idle + [.restarting(isMoved: false), .ending]), (.ending, []),
    ] as [(TaskExecutionState, [TaskExecutionState])])
  private func `state changes only as its table allows`(
    _ place: TaskExecutionState, _ successors: [TaskExecutionState]
  ) {
    #expect(Self.places.filter { place.mayBecome($0) } == successors)
  }

  @Test func `attempt that was not sent is withdrawn`() {
    var beginning = FirstAttemptState.submitted
    beginning.withdraw()
    #expect(beginning == .announced)
    beginning.start(at: Timestamp(seconds: 1))
    beginning.withdraw()
    #expect(beginning.startedAt != nil)
  }

  @Test func `first attempt only advances until the end`() {
    let time = Timestamp(seconds: 1)
    var beginning = FirstAttemptState.notStarted
    beginning.announce()
    #expect(beginning == .announced && !beginning.mayHaveBegun)
    beginning.submit()
    beginning.announce()
    #expect(beginning == .submitted && beginning.mayHaveBegun && beginning.startedAt == nil)
    beginning.start(at: time)
    beginning.start(at: Timestamp(seconds: 2))
    beginning.submit()
    beginning.end()
    #expect(beginning == .started(time) && beginning.mayHaveBegun && beginning.startedAt == time)
    beginning = .submitted
    beginning.end()
    #expect(beginning == .notStarted)
  }
}
