import Testing

@testable import Processes

@Suite(.serialized) struct HeapTrimTests {
  @Test func theSystemTellsWhatIsResident() { #expect(HeapTrim.residentBytes > 1 << 20) }

  /// Each time by as much as it has grown since the last look.
  @Test func itLooksWhereTheProcessHasGrown() {
    var trim = HeapTrim()
    while trim.look() {}
    var blocks: [[UInt8]] = []
    for _ in 0..<(4 * HeapTrim.growth / 2000) { blocks.append([UInt8](repeating: 1, count: 2000)) }
    let hasLooked = trim.look()
    #expect(hasLooked && blocks.count > 0)
  }
}
