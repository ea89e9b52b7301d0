import Testing

@testable import TransferAPI

@Suite struct RequestedRangeTests {
  @Test(
    arguments: [
      ("bytes=0-0", .part(0..<1)), ("bytes=0-9", .part(0..<10)), ("bytes=0-10", .part(0..<10)),
      ("bytes=0-99999", .part(0..<10)), ("bytes=3-5", .part(3..<6)), ("bytes=9-9", .part(9..<10)),
      ("bytes=0-", .part(0..<10)), ("bytes=9-", .part(9..<10)), ("bytes=-1", .part(9..<10)),
      ("bytes=-10", .part(0..<10)),
      ("bytes=-11", .part(0..<10)), ("bytes=-9223372036854775807", .part(0..<10)),
      ("BYTES=1-2", .part(1..<3)),
      ("bytes= 1-2 ", .part(1..<3)), ("bytes=01-02", .part(1..<3)),
      ("bytes=0-9223372036854775806", .part(0..<10)),
      ("bytes=10-", .unsatisfiable), ("bytes=10-20", .unsatisfiable), ("bytes=-0", .unsatisfiable),
      ("bytes=9223372036854775807-", .unsatisfiable),
      ("", .whole), ("bytes", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole),
      ("bytes=5-3", .whole), ("bytes=0-1,3-4", .whole), ("bytes=0-1,", .whole), ("bytes=1", .whole),
      ("items=0-1", .whole),
      ("bytes=--1", .whole), ("bytes=1--2", .whole), ("bytes=+1-2", .whole), ("bytes=1-+2", .whole),
      ("bytes=0x1-2", .whole),
      ("bytes=1-2-3", .whole), ("bytes 0-1", .whole), ("bytes=1 - 2", .whole),
    ] as [(String, RequestedRange)])
  func `range is parsed`(_ field: String, _ expected: RequestedRange) {
    #expect(RequestedRange.parse(field, size: 10) == expected)
  }

  @Test(
    arguments: [
      ("bytes=0-", .unsatisfiable), ("bytes=0-0", .unsatisfiable), ("bytes=-5", .unsatisfiable),
      ("bytes=x", .whole),
    ] as [(String, RequestedRange)])
  func `empty body has no satisfiable range`(_ field: String, _ expected: RequestedRange) {
    #expect(RequestedRange.parse(field, size: 0) == expected)
  }

  /// Any client can send this range, so the service has to survive it.
  @Test func `largest end of a range does not overflow`() async {
    await #expect(processExitsWith: .success) {
      guard RequestedRange.parse("bytes=0-9223372036854775807", size: 10) == .part(0..<10) else {
        fatalError()
      }
    }
  }
}
