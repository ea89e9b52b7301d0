import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct DownloadClaimTests {
  private static let point = DownloadPoint(
    partial: PartialBody(offset: 4, total: 10, validator: "\"v1\""), source: TaskID(high: 1, low: 2))

  private static func claim(_ hasSucceeded: Bool?) -> DownloadClaim {
    var claim = DownloadClaim(point)
    if let hasSucceeded {
      claim.tried(hasSucceeded)
    }
    return claim
  }

  @Test func aDownloadFromItsStartWantsNothing() {
    let claim = DownloadClaim(nil)
    #expect(claim.wanted == nil)
    #expect(claim.atEnd(isReplaced: true, hasFailed: true) == .init())
  }

  @Test func whatIsClaimedIsWantedOnce() {
    #expect(Self.claim(nil).wanted == Self.point)
    #expect(Self.claim(true).wanted == nil && Self.claim(false).wanted == nil)
  }

  /// What was not touched goes back, and the resume data stays good; what another version took the place of goes.
  @Test(
    arguments: [
      (nil, false, true, .nothing, true), (nil, true, true, .nothing, true),
      (nil, false, false, .nothing, false),
      (false, true, true, .nothing, false), (true, false, true, .giveBack(point), true),
      (true, false, false, .giveBack(point), false), (true, true, false, .drop, false),
      (true, true, true, .drop, false),
    ] as [(Bool?, Bool, Bool, DownloadClaim.Return.Files, Bool)])
  func ends(
    _ hasSucceeded: Bool?, _ isReplaced: Bool, _ hasFailed: Bool, _ files: DownloadClaim.Return.Files,
    _ keeps: Bool
  ) {
    let end = Self.claim(hasSucceeded).atEnd(isReplaced: isReplaced, hasFailed: hasFailed)
    #expect(end == .init(files: files, keeps: keeps ? Self.point : nil))
  }

  /// Whatever comes in whatever order: bytes that were claimed are used, given back or dropped, and once.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func walk(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<200 {
      var claim = DownloadClaim(Self.point)
      let hasSucceeded = Bool.random(using: &generator)
      claim.tried(hasSucceeded)
      var owned = hasSucceeded
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        claim.use()
        owned = false
      }
      let end = claim.atEnd(isReplaced: false, hasFailed: true)
      #expect((end.files != .nothing) == owned)
      claim.letGo()
      #expect(claim.atEnd(isReplaced: false, hasFailed: true) == .init())
    }
  }
}
