import LifeCycle
import TestSupport
import Testing
import TransferModel

/// Lives that the automaton itself makes up, and what becomes of them where an event is lost, comes twice, or too early.
@Suite struct TaskWalkTests {
  private static func circumstances(_ generator: inout SplitMix64) -> TaskCircumstances {
    let type = SessionType.allCases.randomElement(using: &generator) ?? .default
    let kind = TaskKind.allCases.randomElement(using: &generator) ?? .data
    return TaskCircumstances(
      kind, in: type, asked: .init(rawValue: .random(in: 0..<128, using: &generator)),
      hasCompletionHandler: .random(using: &generator), waitsForConnectivity: .random(using: &generator),
      goesOnForDataTask: kind == .download && type != .background
        && Int.random(in: 0..<8, using: &generator) == 0)
  }

  /// What may follow: a word, or a question with the phase that belongs to it.
  private static let steps: [[TaskWord]] =
    TaskWord.all.map { [$0] } + TaskCall.allCases.map { [TaskWord].asked($0) }

  /// A life to its end, or for so many steps.
  private static func life(
    in circumstances: TaskCircumstances, _ generator: inout SplitMix64
  ) throws -> [TaskWord] {
    var life = TaskLife(circumstances)
    var words: [TaskWord] = []
    // An end is possible nearly everywhere: it is put off, so that lives are long.
    let patience = Int.random(in: 0..<30, using: &generator)
    while !life.isOver, words.count < 80 {
      var possible = steps.filter { step in
        var next = life
        return next.take(step).violation == nil && !(step == [.deciding] && isQuestionOwed(next))
      }
      let others = possible.filter { $0 != [.metrics] && $0 != [.canceling] }
      if words.count < patience, !others.isEmpty { possible = others }
      let step = try #require(possible.randomElement(using: &generator), "nothing may follow \(words)")
      #expect(life.take(step).violation == nil)
      words += step
    }
    return words
  }

  /// Nothing but a question may follow.
  private static func isQuestionOwed(_ life: TaskLife) -> Bool {
    var next = life
    return next.take([.canceling]).violation?.rule == .phaseOfAQuestion
  }

  @Test(arguments: 0..<UInt64(4)) func itsOwnWordsKeepThePlainRules(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var ended = 0
    for _ in 0..<50 {
      let circumstances = Self.circumstances(&generator)
      let words = try Self.life(in: circumstances, &generator)
      let broken = PlainRules(circumstances: circumstances, words: words).broken
      try #require(broken.isEmpty, "\(broken): \(words) of \(circumstances)")
      var life = TaskLife(circumstances)
      #expect(life.take(words).violation == nil)
      if life.isOver { ended += 1 }
    }
    #expect(ended > 25)
  }

  private enum Fault: CaseIterable { case lost, twice, early }

  private static func damaged(_ words: [TaskWord], _ fault: Fault, at index: Int) -> [TaskWord] {
    var words = words
    switch fault {
    case .lost: words.remove(at: index)
    case .twice: words.insert(words[index], at: index)
    case .early: words.swapAt(index, max(0, index - 1))
    }
    return words
  }

  @Test(arguments: 0..<UInt64(4)) func whatBreaksAPlainRuleIsRefused(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: 1000 + seed)
    var refused: Set<TaskRule> = []
    var (broken, total) = (0, 0)
    for _ in 0..<50 {
      let circumstances = Self.circumstances(&generator)
      let words = try Self.life(in: circumstances, &generator)
      for fault in Fault.allCases {
        let index = Int.random(in: words.indices, using: &generator)
        let damaged = Self.damaged(words, fault, at: index)
        let rules = PlainRules(circumstances: circumstances, words: damaged).broken
        var life = TaskLife(circumstances)
        let violation = life.take(damaged).violation
        total += 1
        if let violation { refused.insert(violation.rule) }
        guard !rules.isEmpty else { continue }
        broken += 1
        try #require(violation != nil, "\(fault) at \(index) breaks \(rules): \(damaged) of \(circumstances)")
      }
    }
    #expect(broken > total / 4 && refused.count > 8, "\(broken) of \(total), \(refused)")
  }

  /// What comes once, and has to: without it, and with it twice, nothing is a whole life.
  @Test func noLifeIsWholeWithoutItsFirstAndLastEvents() throws {
    var generator = SplitMix64(seed: 77)
    for _ in 0..<50 {
      let circumstances = Self.circumstances(&generator)
      let words = try Self.life(in: circumstances, &generator)
      var whole = TaskLife(circumstances)
      guard whole.take(words).violation == nil, whole.isOver else { continue }
      for (index, word) in words.enumerated() where Self.isSingle(word) {
        for fault in [Fault.lost, .twice] {
          let damaged = Self.damaged(words, fault, at: index)
          var life = TaskLife(circumstances)
          let isWhole = life.take(damaged).violation == nil && life.isOver
          try #require(!isWhole, "\(word) \(fault): \(damaged)")
        }
      }
    }
  }

  private static func isSingle(_ word: TaskWord) -> Bool {
    switch word {
    case .created, .metrics, .completed, .finishedDownloading, .becameDownload: true
    default: false
    }
  }
}
