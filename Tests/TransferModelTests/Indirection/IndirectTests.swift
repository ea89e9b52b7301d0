import Testing

@testable import TransferModel

@Suite struct IndirectTests {
  private struct Whole: Equatable {
    @Indirect var always = [1]
    @IndirectOptional var perhaps: String? = nil
  }

  @Test func `change of a copy leaves the original unchanged`() {
    let first = Whole()
    var second = first
    #expect(first == second)
    second.always.append(2)
    second.perhaps = "here"
    #expect(first.always == [1] && first.perhaps == nil)
    #expect(second.always == [1, 2] && second.perhaps == "here")
    #expect(first != second)
    second = Whole(always: [1], perhaps: nil)
    #expect(first == second)
  }

  /// A suspended task stays in memory for as long as its client wants.
  @Test func `task and event fit their size limits`() {
    #expect(MemoryLayout<TransferTask>.size <= 336)
    #expect(MemoryLayout<TransferEvent>.size <= 448)
  }
}
