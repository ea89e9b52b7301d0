import LifeCycle
import TestSupport
import Testing
import TransferModel

/// Random lives from the automaton, and the same lives with an event that is lost, repeated or too early.
@Suite struct TaskWalkTests {
  private static func circumstances(_ generator: inout SplitMix64) -> TaskTraits {
    let type = SessionType.allCases.randomElement(using: &generator) ?? .default
    let kind = TaskKind.allCases.randomElement(using: &generator) ?? .data
    return TaskTraits(
      kind, in: type, asked: .init(rawValue: .random(in: 0..<128, using: &generator)),
      hasCompletionHandler: .random(using: &generator), waitsForConnectivity: .random(using: &generator),
      goesOnForDataTask: kind == .download && type != .background
        && Int.random(in: 0..<8, using: &generator) == 0,
      mayRetry: .random(using: &generator))
  }

  /// The possible steps: a symbol, or a decision with its phase.
  private static let steps: [[TaskSymbol]] =
    TaskSymbol.all.map { [$0] } + DelegateCall.allCases.map { [TaskSymbol].asked($0) }

  /// Returns a random life, complete or of limited length.
  private static func life(
    in circumstances: TaskTraits, _ generator: inout SplitMix64
  ) throws -> [TaskSymbol] {
    var life = TaskLifeAutomaton(circumstances)
    var words: [TaskSymbol] = []
    // An end is possible almost everywhere. It is delayed to make lives long.
    let patience = Int.random(in: 0..<30, using: &generator)
    while !life.isOver, words.count < 80 {
      var possible = steps.filter { step in
        var next = life
        return next.take(step).violation == nil && !(step == [.deciding] && isQuestionOwed(next))
      }
      let others = possible.filter { $0 != [.metrics] && $0 != [.canceling] }
      if words.count < patience, !others.isEmpty { possible = others }
      let step = try #require(possible.randomElement(using: &generator), "no event may follow \(words)")
      #expect(life.take(step).violation == nil)
      words += step
    }
    return words
  }

  /// Returns whether only a decision may follow.
  private static func isQuestionOwed(_ life: TaskLifeAutomaton) -> Bool {
    var next = life
    return next.take([.canceling]).violation?.rule == .phaseOfAQuestion
  }

  @Test(arguments: 0..<UInt64(4)) func `random lives keep the plain rules`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var ended = 0
    for _ in 0..<50 {
      let circumstances = Self.circumstances(&generator)
      let words = try Self.life(in: circumstances, &generator)
      let broken = TaskRuleTable(circumstances: circumstances, words: words).broken
      try #require(broken.isEmpty, "\(broken): \(words) of \(circumstances)")
      var life = TaskLifeAutomaton(circumstances)
      #expect(life.take(words).violation == nil)
      if life.isOver { ended += 1 }
    }
    #expect(ended > 25)
  }

  private enum Fault: CaseIterable { case lost, twice, early }

  private static func damaged(_ words: [TaskSymbol], _ fault: Fault, at index: Int) -> [TaskSymbol] {
    var words = words
    switch fault {
    case .lost: words.remove(at: index)
    case .twice: words.insert(words[index], at: index)
    case .early: words.swapAt(index, max(0, index - 1))
    }
    return words
  }

  @Test(arguments: 0..<UInt64(4)) func `damaged life is refused`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: 1000 + seed)
    var refused: Set<TaskRule> = []
    var (broken, total) = (0, 0)
    for _ in 0..<50 {
      let circumstances = Self.circumstances(&generator)
      let words = try Self.life(in: circumstances, &generator)
      for fault in Fault.allCases {
        let index = Int.random(in: words.indices, using: &generator)
        let damaged = Self.damaged(words, fault, at: index)
        let rules = TaskRuleTable(circumstances: circumstances, words: damaged).broken
        var life = TaskLifeAutomaton(circumstances)
        let violation = life.take(damaged).violation
        total += 1
        if let violation { refused.insert(violation.rule) }
        guard !rules.isEmpty else { continue }
        broken += 1
        try #require(
          violation != nil,
          "the automaton accepted \(fault) at \(index), which breaks \(rules): \(damaged) of \(circumstances)"
        )
      }
    }
    #expect(broken > total / 4 && refused.count > 8, "\(broken) of \(total), \(refused)")
  }

  /// A life that lacks a mandatory single event, or repeats it, is not complete.
  @Test func `no life is complete without its single events`() throws {
    var generator = SplitMix64(seed: 77)
    for _ in 0..<50 {
      let circumstances = Self.circumstances(&generator)
      let words = try Self.life(in: circumstances, &generator)
      var whole = TaskLifeAutomaton(circumstances)
      guard whole.take(words).violation == nil, whole.isOver else { continue }
      for (index, word) in words.enumerated() where Self.isSingle(word) {
        for fault in [Fault.lost, .twice] {
          let damaged = Self.damaged(words, fault, at: index)
          var life = TaskLifeAutomaton(circumstances)
          let isWhole = life.take(damaged).violation == nil && life.isOver
          try #require(!isWhole, "\(word) \(fault): \(damaged)")
        }
      }
    }
  }

  private static func isSingle(_ word: TaskSymbol) -> Bool {
    switch word {
    case .created, .metrics, .completed, .finishedDownloading, .becameDownload: true
    default: false
    }
  }
}
