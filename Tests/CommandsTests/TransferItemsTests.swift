import TestSupport
import Testing

@testable import Commands

@Suite struct TransferItemsTests {
  private static let file = TransferItem.PlacedFile(path: "/d/a", size: 5, sha256: "00")
  private static let states: [TransferItem.State] = [
    .planned, .creating, .queued, .transferring, .fetching, .done(file), .skipped(file),
    .failed(.init(cause: .network, message: "lost")),
  ]

  @Test(arguments: 1...20 as ClosedRange<UInt64>) func `sums equal a pass over all items`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var items = TransferItems((0..<8).map { TransferItem(url: "http://o/\($0)", key: "k\($0)") })
    for _ in 0..<200 {
      let index = Int.random(in: 0..<items.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: items[index].state = Self.states.randomElement(using: &random) ?? .planned
      case 1: items[index].received = Int64.random(in: 0..<100, using: &random)
      default:
        items[index].expected = Bool.random(using: &random) ? Int64.random(in: 0..<100, using: &random) : nil
      }
      let failed = items.filter { if case .failed = $0.state { true } else { false } }
      let others = items.filter { if case .failed = $0.state { false } else { true } }
      let sizes = others.compactMap(\.expected)
      #expect(items.receivedBytes == items.reduce(0) { $0 + $1.received })
      #expect(items.failedCount == failed.count)
      #expect(items.doneCount == items.count { if case .done = $0.state { true } else { false } })
      #expect(items.expectedBytes == (sizes.count == others.count ? sizes.reduce(0, +) : nil))
    }
  }
}
