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
      claim.noteResult(hasSucceeded)
    }
    return claim
  }

  @Test func `download from its start claims nothing`() {
    let claim = DownloadClaim(nil)
    #expect(claim.wanted == nil)
    #expect(claim.atEnd(isReplaced: true, hasFailed: true) == .init())
  }

  @Test func `bytes are claimed once`() {
    #expect(Self.claim(nil).wanted == Self.point)
    #expect(Self.claim(true).wanted == nil && Self.claim(false).wanted == nil)
  }

  /// Unused bytes are given back and the resume data stays valid. Bytes that another version replaces are deleted.
  @Test(
    arguments: [
      (nil, false, true, .nothing, true), (nil, true, true, .nothing, true),
      (nil, false, false, .nothing, false),
      (false, true, true, .nothing, false), (true, false, true, .giveBack(point), true),
      (true, false, false, .giveBack(point), false), (true, true, false, .drop, false),
      (true, true, true, .drop, false),
    ] as [(Bool?, Bool, Bool, DownloadClaim.ReleaseAction.Files, Bool)])
  func ends(
    _ hasSucceeded: Bool?, _ isReplaced: Bool, _ hasFailed: Bool, _ files: DownloadClaim.ReleaseAction.Files,
    _ keeps: Bool
  ) {
    let end = Self.claim(hasSucceeded).atEnd(isReplaced: isReplaced, hasFailed: hasFailed)
    #expect(end == .init(files: files, keptPoint: keeps ? Self.point : nil))
  }

  /// A random walk: claimed bytes are used, given back or deleted, and only once.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func `claimed bytes are settled once`(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<200 {
      var claim = DownloadClaim(Self.point)
      let hasSucceeded = Bool.random(using: &generator)
      claim.noteResult(hasSucceeded)
      var owned = hasSucceeded
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        claim.use()
        owned = false
      }
      let end = claim.atEnd(isReplaced: false, hasFailed: true)
      #expect((end.files != .nothing) == owned)
      claim.release()
      #expect(claim.atEnd(isReplaced: false, hasFailed: true) == .init())
    }
  }
}
