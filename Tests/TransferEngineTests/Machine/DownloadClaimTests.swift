import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct DownloadClaimTests {
  private static let point = DownloadPoint(
    partial: PartialBody(offset: 4, total: 10, validator: "\"v1\""), source: TaskID(high: 1, low: 2))

  private static func head(_ status: Int, _ fields: [(String, String)] = []) -> ResponseHead {
    ResponseHead(
      httpVersion: "HTTP/1.1", status: status,
      headers: HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) }))
  }
  private static let rest = head(206, [("Content-Range", "bytes 4-9/10"), ("ETag", "\"v1\"")])

  private static func claim(_ hasSucceeded: Bool?) -> DownloadClaim {
    var claim = DownloadClaim(point)
    if let hasSucceeded {
      claim.tried(hasSucceeded)
      claim.willSend()
    }
    return claim
  }

  @Test func aDownloadFromItsStartWantsNothing() {
    var claim = DownloadClaim(nil)
    #expect(claim.wanted == nil && claim.offset == nil && claim.meet(Self.rest) == .take)
    #expect(claim.atEnd(status: 200, hasFailed: true) == .init())
  }

  @Test func whatIsClaimedIsWantedOnce() {
    #expect(Self.claim(nil).wanted == Self.point)
    #expect(Self.claim(true).wanted == nil && Self.claim(true).offset == 4)
    #expect(Self.claim(false).wanted == nil && Self.claim(false).offset == nil)
  }

  @Test(
    arguments: [
      (rest, .goOn(offset: 4, total: 10)), (head(200), .restart), (head(206), .askForWhole),
      (head(416), .askForWhole), (head(404), .take), (head(503), .take),
    ] as [(ResponseHead, DownloadClaim.Verdict)])
  func answers(_ head: ResponseHead, _ expected: DownloadClaim.Verdict) {
    var claim = Self.claim(true)
    #expect(claim.meet(head) == expected)
    if case .goOn = expected {} else { #expect(claim.offset == nil) }
  }

  /// Whose bytes are gone starts anew, and says so where something comes.
  @Test(arguments: [(200, .restart), (204, .restart), (404, .take)] as [(Int, DownloadClaim.Verdict)])
  func withoutTheBytes(_ status: Int, _ expected: DownloadClaim.Verdict) {
    var claim = Self.claim(false)
    #expect(claim.meet(Self.head(status)) == expected)
  }

  /// What was not touched goes back, and the resume data stays good; what another version took the place of goes.
  @Test(
    arguments: [
      (nil, nil, true, .nothing, true), (nil, nil, false, .nothing, false),
      (false, 200, true, .nothing, false), (true, nil, true, .giveBack(point), true),
      (true, 404, true, .giveBack(point), true), (true, 404, false, .giveBack(point), false),
      (true, 200, false, .drop, false), (true, 200, true, .drop, false),
    ] as [(Bool?, Int?, Bool, DownloadClaim.Return.Files, Bool)])
  func ends(
    _ hasSucceeded: Bool?, _ status: Int?, _ hasFailed: Bool, _ files: DownloadClaim.Return.Files,
    _ keeps: Bool
  ) {
    let end = Self.claim(hasSucceeded).atEnd(status: status, hasFailed: hasFailed)
    #expect(end == .init(files: files, keeps: keeps ? Self.point : nil))
  }

  /// Whatever comes in whatever order: bytes that were claimed are used, given back or dropped, and once.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func walk(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    let heads = [Self.rest, Self.head(200), Self.head(206), Self.head(416), Self.head(404), Self.head(302)]
    for _ in 0..<200 {
      var claim = DownloadClaim(Self.point)
      let hasSucceeded = Bool.random(using: &generator)
      claim.tried(hasSucceeded)
      var (owned, used) = (hasSucceeded, false)
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        claim.willSend()
        // What is asked for is there.
        #expect(claim.offset == nil || owned)
        if case .goOn = claim.meet(heads[Int.random(in: 0..<heads.count, using: &generator)]) {
          #expect(owned && !used)
          claim.use()
          (owned, used) = (false, true)
        }
      }
      let end = claim.atEnd(status: 404, hasFailed: true)
      #expect((end.files != .nothing) == owned)
      claim.letGo()
      #expect(claim.atEnd(status: 404, hasFailed: true) == .init())
    }
  }
}
