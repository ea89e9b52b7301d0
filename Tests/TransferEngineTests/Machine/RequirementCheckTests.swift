import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RequirementCheckTests {
  private static let url = "http://a.test/f"
  private static let digest = String(repeating: "ab", count: 32)

  private static func check(failsOnStatus: Bool = false, _ expected: ExpectedBody? = nil) -> RequirementCheck
  {
    var requirements = ResponseRequirements()
    (requirements.failsOnStatus, requirements.expected) = (failsOnStatus, expected)
    return RequirementCheck(requirements)
  }

  private static func end(
    _ check: RequirementCheck, _ error: TransferError? = nil, status: Int? = 200, size: Int64 = 5,
    isTooLarge: Bool = false
  ) -> TransferError? {
    check.endError(error, status: status, size: size, excess: (isTooLarge, 100), url: url)
  }

  @Test(arguments: [
    (200, false, false), (204, false, false), (302, false, true), (399, false, true), (400, true, true),
    (404, true, true), (503, true, true),
  ])
  func `status is refused as required`(_ status: Int, _ byFlag: Bool, _ byExpectation: Bool) {
    let (plain, flagged) = (RequirementCheck(nil), Self.check(failsOnStatus: true))
    let expecting = Self.check(ExpectedBody(size: 5))
    #expect(Self.end(plain, status: status) == nil)
    let error = Self.end(flagged, status: status)
    #expect((error?.reason == .ferry(.httpStatus)) == byFlag)
    #expect(!byFlag || error?.status == status && error?.message.contains("failOnStatus") == true)
    #expect((Self.end(expecting, status: status)?.reason == .ferry(.httpStatus)) == byExpectation)
  }

  @Test func `size is compared at the head and at the end`() {
    let check = Self.check(ExpectedBody(size: 5))
    for (total, isWrong) in [(Int64(-1), false), (5, false), (4, true), (6, true)] {
      let error = check.headError(status: 200, total: total, url: Self.url)
      #expect((error?.reason == .ferry(.contentMismatch)) == isWrong)
      #expect(check.headError(status: 404, total: total, url: Self.url) == nil)
    }
    #expect(Self.end(check) == nil)
    #expect(Self.end(check, size: 4)?.reason == .ferry(.contentMismatch))
    #expect(check.maximumSize(status: 200, limit: 100) == 5)
    #expect(check.maximumSize(status: 200, limit: 3) == 3)
    #expect(check.maximumSize(status: 404, limit: 100) == 100)
  }

  @Test func `excess is a mismatch unless the service's own limit is smaller`() {
    let tooLarge = TransferError(.bodyTooLarge, "")
    let reason = Self.end(Self.check(ExpectedBody(size: 5)), tooLarge, isTooLarge: true)?.reason
    #expect(reason == .ferry(.contentMismatch))
    for expected in [ExpectedBody(size: 100), ExpectedBody(sha256: Self.digest)] {
      #expect(Self.end(Self.check(expected), tooLarge, isTooLarge: true) == tooLarge)
    }
  }

  @Test func `error of the transfer takes precedence`() {
    let lost = TransferError(.networkConnectionLost, "lost")
    #expect(Self.end(Self.check(failsOnStatus: true, ExpectedBody(size: 9)), lost, status: 404) == lost)
    #expect(Self.end(Self.check(failsOnStatus: true, ExpectedBody(size: 9)), lost, status: nil) == lost)
  }

  @Test func `resumed body with another digest is fetched again once`() {
    func action(_ check: inout RequirementCheck, _ digest: String, isResumed: Bool) -> String {
      switch check.digestAction(digest, status: 200, isResumed: isResumed, url: Self.url) {
      case .accept: "accept"
      case .startAgain: "again"
      case .fail(let error): error.name
      }
    }
    var check = Self.check(ExpectedBody(sha256: Self.digest))
    #expect(action(&check, Self.digest, isResumed: true) == "accept")
    #expect(action(&check, "00", isResumed: true) == "again")
    #expect(action(&check, "00", isResumed: true) == "contentMismatch")
    var whole = Self.check(ExpectedBody(sha256: Self.digest))
    #expect(action(&whole, "00", isResumed: false) == "contentMismatch")
    var sized = Self.check(ExpectedBody(size: 5))
    #expect(action(&sized, "00", isResumed: true) == "accept")
  }
}
