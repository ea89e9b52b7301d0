import Testing

@testable import Processes

@Suite(.serialized) struct HeapTrimTests {
  @Test func `resident size is reported`() { #expect(HeapTrim.residentBytes > 1 << 20) }

  /// Each trim needs another 32 MiB of growth.
  @Test func `heap is trimmed after growth`() {
    var trim = HeapTrim()
    while trim.trimIfNeeded() {}
    var blocks: [[UInt8]] = []
    for _ in 0..<(4 * HeapTrim.growth / 2000) { blocks.append([UInt8](repeating: 1, count: 2000)) }
    let hasLooked = trim.trimIfNeeded()
    #expect(hasLooked && blocks.count > 0)
  }
}
