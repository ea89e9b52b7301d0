import TestSupport
import Testing

@testable import TransferEngine

@Suite struct RequestContactTests {
  @Test func aRequestGoesOutOnceItHasItsBody() {
    var contact = RequestContact()
    #expect(contact.meet(lacksBody: true, isIdempotent: true) == .waitForBody)
    #expect(contact.isConnected && !contact.isPastConnect)
    #expect(contact.meet(lacksBody: false, isIdempotent: true) == .send(beginsAgain: false))
    #expect(contact.isPastConnect)
  }

  @Test func onlyTheFirstAfterAWaitBeginsAgain() {
    var contact = RequestContact()
    contact.waitForNetwork()
    #expect(contact.meet(lacksBody: false, isIdempotent: true) == .send(beginsAgain: true))
    #expect(contact.meet(lacksBody: false, isIdempotent: true) == .send(beginsAgain: false))
  }

  /// What was lost before an answer, as libcurl gives it up.
  @Test(
    arguments: [
      (true, false, false, false), (true, false, true, true), (false, false, true, false),
      (false, true, false, true), (true, true, true, true),
    ])
  func lostRequestIsSentAgainWhereThatDoesNothingTwice(
    _ isIdempotent: Bool, _ isUnprocessed: Bool, _ wasKept: Bool, _ isRepeated: Bool
  ) {
    let loss = RequestContact.Loss(
      isIdempotent: isIdempotent, isUnprocessed: isUnprocessed, wasKept: wasKept)
    var contact = RequestContact()
    let before = contact.lose(loss)
    #expect(!before)  // it never went out
    _ = contact.meet(lacksBody: false, isIdempotent: isIdempotent)
    let isSentAgain = contact.lose(loss)
    #expect(isSentAgain == isRepeated)
    #expect(contact.refusesRepeat == !isRepeated)
    contact.begin()
    _ = contact.meet(lacksBody: false, isIdempotent: isIdempotent)
    contact.hear()
    let after = contact.lose(loss)
    #expect(!after)
  }

  /// Whoever repeats it.
  @Test func repeatsAreCounted() {
    let loss = RequestContact.Loss(isIdempotent: false, isUnprocessed: true)
    var contact = RequestContact()
    _ = contact.meet(lacksBody: false, isIdempotent: false)
    for number in 1...RequestContact.maximumRepeats {
      if number.isMultiple(of: 2) {
        let isSentAgain = contact.lose(loss)
        #expect(isSentAgain)
        contact.begin()
        #expect(contact.meet(lacksBody: false, isIdempotent: false) == .send(beginsAgain: false))
      } else {
        let verdict = contact.meet(lacksBody: false, isIdempotent: false, isUnprocessed: true)
        #expect(verdict == .send(beginsAgain: false))
      }
    }
    #expect(contact.meet(lacksBody: false, isIdempotent: false, isUnprocessed: true) == .refuseRepeat)
    let isSentAgain = contact.lose(loss)
    #expect(!isSentAgain)
  }

  @Test func bodyThatIsGoneIsNotSentAgainUnseen() {
    var contact = RequestContact()
    #expect(
      contact.meet(lacksBody: false, isIdempotent: true, hasBody: false) == .send(beginsAgain: false))
    #expect(contact.meet(lacksBody: false, isIdempotent: true, hasBody: false) == .refuseRepeat)
    let isSentAgain = contact.lose(.init(isIdempotent: true, wasKept: true))
    #expect(isSentAgain)
  }

  /// RFC 9110 §9.2.2: what is not idempotent goes out a second time only where the first was answered, or is another request.
  @Test(arguments: 1...10 as ClosedRange<UInt64>) func walk(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    var contact = RequestContact()
    var (isUnanswered, repeats) = (false, 0)
    for _ in 0..<500 {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        contact.hear()
        isUnanswered = false
      case 1:
        contact.begin()
        isUnanswered = false
      case 2:
        contact.forgetAnswer()
        #expect(!contact.isPastConnect)
      default:
        let isIdempotent = Bool.random(using: &generator)
        let verdict = contact.meet(lacksBody: false, isIdempotent: isIdempotent)
        let isLast = repeats == RequestContact.maximumRepeats
        #expect((verdict == .refuseRepeat) == (isUnanswered && (!isIdempotent || isLast)))
        if isUnanswered, verdict != .refuseRepeat { repeats += 1 }
        if verdict != .refuseRepeat { isUnanswered = true }
      }
    }
  }
}
