import LifeCycle
import Testing
import TransferModel

@Suite struct SessionLifeTests {
  struct Row: Sendable {
    let type: SessionType
    let words: [SessionSymbol]
    /// The rule that the last symbol breaks; `nil` if none is broken.
    var rule: SessionRule?

    init(_ type: SessionType, _ words: [SessionSymbol], breaks rule: SessionRule? = nil) {
      (self.type, self.words, self.rule) = (type, words, rule)
    }
  }

  static let rows: [Row] = [
    Row(.default, []), Row(.default, [.becameInvalid]),
    Row(.default, [.taskBegan, .taskTold, .taskEnded, .becameInvalid]),
    Row(.ephemeral, [.taskBegan, .taskBegan, .taskEnded, .taskTold, .taskEnded, .becameInvalid]),
    Row(.background, [.taskBegan, .taskEnded, .finishedEvents, .becameInvalid]),
    Row(.background, [.taskBegan, .taskEnded, .finishedEvents, .taskBegan, .taskEnded, .finishedEvents]),
    Row(.background, [.taskBegan, .taskEnded, .taskBegan, .taskEnded, .finishedEvents]),
    Row(.background, [.taskBegan, .taskEnded, .becameInvalid]),
    Row(.default, [.becameInvalid, .becameInvalid], breaks: .silentWhenInvalid),
    Row(.default, [.becameInvalid, .taskBegan], breaks: .silentWhenInvalid),
    Row(.background, [.taskBegan, .taskEnded, .becameInvalid, .finishedEvents], breaks: .silentWhenInvalid),
    Row(.default, [.taskBegan, .becameInvalid], breaks: .endsBehindItsTasks),
    Row(.default, [.taskBegan, .taskBegan, .taskEnded, .becameInvalid], breaks: .endsBehindItsTasks),
    Row(.default, [.taskEnded], breaks: .oneEndForEachTask),
    Row(.default, [.taskBegan, .taskEnded, .taskEnded], breaks: .oneEndForEachTask),
    Row(.default, [.taskBegan, .taskEnded, .finishedEvents], breaks: .finishedInBackground),
    Row(.ephemeral, [.taskBegan, .taskEnded, .finishedEvents], breaks: .finishedInBackground),
    Row(.background, [.taskBegan, .finishedEvents], breaks: .finishedBehindAllTasks),
    Row(.background, [.taskBegan, .taskBegan, .taskEnded, .finishedEvents], breaks: .finishedBehindAllTasks),
    Row(.background, [.finishedEvents], breaks: .finishedBehindAnEnd),
    Row(
      .background, [.taskBegan, .taskEnded, .finishedEvents, .finishedEvents], breaks: .finishedBehindAnEnd),
  ]

  @Test(arguments: rows) func `session accepts the events of its grammar only`(_ row: Row) {
    var life = SessionLifeAutomaton(row.type)
    var refused: SessionRule?
    for (index, word) in row.words.enumerated() {
      do throws(SessionLifeAutomaton.Violation) { try life.accept(word) } catch {
        refused = error.rule
        #expect(index == row.words.count - 1 && error.word == word)
      }
    }
    #expect(refused == row.rule)
    if row.rule == nil { #expect(life.isOver == (row.words.last == .becameInvalid)) }
  }

  @Test func `shared session never becomes invalid`() {
    var life = SessionLifeAutomaton(.default, isShared: true)
    #expect(throws: SessionLifeAutomaton.Violation.self) { try life.accept(.becameInvalid) }
    #expect(throws: Never.self) { try life.accept(.taskBegan) }
    #expect(!life.isOver)
  }

  @Test func `examples break every rule`() {
    #expect(Set(Self.rows.compactMap(\.rule)).union([.sharedStays]) == Set(SessionRule.allCases))
  }

  @Test func `events have their symbols`() {
    #expect(SessionSymbol(TaskSymbol.created(.data)) == .taskBegan)
    #expect(
      SessionSymbol(TaskSymbol.becameDownload) == .taskEnded
        && SessionSymbol(TaskSymbol.failure) == .taskEnded)
    #expect(SessionSymbol(TaskSymbol.metrics) == .taskTold)
    #expect(SessionSymbol(.sessionDidFinishEvents) == .finishedEvents)
    #expect(
      SessionSymbol(.sessionDidBecomeInvalid) == .becameInvalid && SessionSymbol(.sessionHandleEvents) == nil)
  }
}
