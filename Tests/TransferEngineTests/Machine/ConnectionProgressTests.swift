import TestSupport
import Testing

@testable import TransferEngine

@Suite struct ConnectionProgressTests {
  @Test func `request waits for its body`() {
    var contact = ConnectionProgress()
    #expect(contact.connected(lacksBody: true, isIdempotent: true) == .waitForBody)
    #expect(contact.isConnected && !contact.isPastConnect)
    #expect(contact.connected(lacksBody: false, isIdempotent: true) == .send(beginsAgain: false))
    #expect(contact.isPastConnect)
  }

  @Test func `only the first send after a network wait is a new start`() {
    var contact = ConnectionProgress()
    contact.waitForNetwork()
    #expect(contact.connected(lacksBody: false, isIdempotent: true) == .send(beginsAgain: true))
    #expect(contact.connected(lacksBody: false, isIdempotent: true) == .send(beginsAgain: false))
  }

  /// The request is lost before a response, and libcurl gives it up.
  @Test(
    arguments: [
      (true, false, false, false), (true, false, true, true), (false, false, true, false),
      (false, true, false, true), (true, true, true, true),
    ])
  func `lost request is repeated only if that is safe`(
    _ isIdempotent: Bool, _ isUnprocessed: Bool, _ wasKept: Bool, _ isRepeated: Bool
  ) {
    let loss = ConnectionProgress.ConnectionLoss(
      isIdempotent: isIdempotent, isUnprocessed: isUnprocessed, wasKept: wasKept)
    var contact = ConnectionProgress()
    let before = contact.connectionLost(loss)
    #expect(!before)  // The request was never sent.
    _ = contact.connected(lacksBody: false, isIdempotent: isIdempotent)
    let isSentAgain = contact.connectionLost(loss)
    #expect(isSentAgain == isRepeated)
    #expect(contact.refusesRepeat == !isRepeated)
    contact.begin()
    _ = contact.connected(lacksBody: false, isIdempotent: isIdempotent)
    contact.receivedBytes()
    let after = contact.connectionLost(loss)
    #expect(!after)
  }

  /// Repeats by libcurl and by Ferry count together.
  @Test func `number of repeats is limited`() {
    let loss = ConnectionProgress.ConnectionLoss(isIdempotent: false, isUnprocessed: true)
    var contact = ConnectionProgress()
    _ = contact.connected(lacksBody: false, isIdempotent: false)
    for number in 1...ConnectionProgress.maximumRepeats {
      if number.isMultiple(of: 2) {
        let isSentAgain = contact.connectionLost(loss)
        #expect(isSentAgain)
        contact.begin()
        #expect(contact.connected(lacksBody: false, isIdempotent: false) == .send(beginsAgain: false))
      } else {
        let nextStep = contact.connected(lacksBody: false, isIdempotent: false, isUnprocessed: true)
        #expect(nextStep == .send(beginsAgain: false))
      }
    }
    #expect(contact.connected(lacksBody: false, isIdempotent: false, isUnprocessed: true) == .refuseRepeat)
    let isSentAgain = contact.connectionLost(loss)
    #expect(!isSentAgain)
  }

  @Test func `libcurl does not repeat a request without its body`() {
    var contact = ConnectionProgress()
    #expect(
      contact.connected(lacksBody: false, isIdempotent: true, hasBody: false) == .send(beginsAgain: false))
    #expect(contact.connected(lacksBody: false, isIdempotent: true, hasBody: false) == .refuseRepeat)
    let isSentAgain = contact.connectionLost(.init(isIdempotent: true, wasKept: true))
    #expect(isSentAgain)
  }

  /// RFC 9110 §9.2.2: a request that is not idempotent is sent again only after a response, or if it became another
  /// request.
  @Test(arguments: 1...10 as ClosedRange<UInt64>) func `unsafe request is never repeated`(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    var contact = ConnectionProgress()
    var (isUnanswered, repeats) = (false, 0)
    for _ in 0..<500 {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        contact.receivedBytes()
        isUnanswered = false
      case 1:
        contact.begin()
        isUnanswered = false
      case 2:
        contact.discardResponse()
        #expect(!contact.isPastConnect)
      default:
        let isIdempotent = Bool.random(using: &generator)
        let nextStep = contact.connected(lacksBody: false, isIdempotent: isIdempotent)
        let isLast = repeats == ConnectionProgress.maximumRepeats
        #expect((nextStep == .refuseRepeat) == (isUnanswered && (!isIdempotent || isLast)))
        if isUnanswered, nextStep != .refuseRepeat { repeats += 1 }
        if nextStep != .refuseRepeat { isUnanswered = true }
      }
    }
  }
}
