import Testing

@testable import EngineAPI

@Suite struct PartStartsTests {
  @Test func `only the last offsets are kept`() {
    var parts = PartStarts()
    #expect(parts.count == 0 && parts.last == nil)
    let count = 3 * PartStarts.most
    for index in 0..<count { parts.append(Int64(2 * index)) }
    #expect(parts.count == count && parts.last == Int64(2 * count - 2))
    let oldest = count - PartStarts.most
    for (index, start) in [(count - 1, count - 1), (oldest, oldest), (oldest - 1, oldest), (0, oldest)] {
      #expect(parts[index] == Int64(2 * start))
    }
  }
}
