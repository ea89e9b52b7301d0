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

  /// RFC 9110 §9.2.2: what is not idempotent goes out a second time only where the first was answered, or is another request.
  @Test(arguments: 1...10 as ClosedRange<UInt64>) func walk(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    var contact = RequestContact()
    var isUnanswered = false
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
        #expect((verdict == .refuseRepeat) == (isUnanswered && !isIdempotent))
        #expect(contact.refusesRepeat == (verdict == .refuseRepeat))
        if verdict != .refuseRepeat { isUnanswered = true }
      }
    }
  }
}
