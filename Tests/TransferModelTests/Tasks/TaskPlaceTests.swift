import Testing

@testable import TransferModel

@Suite struct TaskPlaceTests {
  private static let idle = [TaskPlace.idle(goesOn: false), .idle(goesOn: true)]
  private static let places = [.creating] + idle + [.uncertain, .carried, .leaving, .ending]

  @Test(
    arguments: [
      (.creating, idle), (.idle(goesOn: false), idle + [.carried, .ending]),
      (.idle(goesOn: true), idle + [.carried, .ending]), (.uncertain, idle + [.carried, .ending]),
      (.carried, [.leaving, .ending]), (.leaving, idle + [.ending]), (.ending, []),
    ] as [(TaskPlace, [TaskPlace])])
  private func placeHasTheseSuccessors(_ place: TaskPlace, _ successors: [TaskPlace]) {
    #expect(Self.places.filter { place.mayBecome($0) } == successors)
  }

  @Test func beginningOnlyAdvancesUntilTheEnd() {
    let time = Timestamp(seconds: 1)
    var beginning = TaskBeginning.notYet
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
    #expect(beginning == .notYet)
  }
}
