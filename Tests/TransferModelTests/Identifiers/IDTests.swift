import JSON
import TestSupport
import Testing

@testable import TransferModel

@Suite struct IDTests {
  private static let time = Timestamp(microseconds: 1_769_860_800_123_456)

  @Test func textHasThePrefixAndAUUID() {
    let id = TaskID(high: 0x0192_3456_789A_7BCD, low: 0x8EF0_1234_5678_9ABC)
    #expect(id.description == "tsk_01923456-789a-7bcd-8ef0-123456789abc")
    #expect(DeliveryID(high: id.high, low: id.low).description == "whd_01923456-789a-7bcd-8ef0-123456789abc")
    #expect(SessionID(high: id.high, low: id.low).description == "ses_01923456-789a-7bcd-8ef0-123456789abc")
  }

  @Test func textAndBytesRoundTrip() throws {
    var generator = SplitMix64(seed: 1)
    for _ in 0..<500 {
      let id = TaskID(high: generator.next(), low: generator.next())
      try #require(TaskID(id.description) == id)
      try #require(TaskID(bytes: id.bytes) == id)
    }
  }

  @Test func bytesAreMostSignificantFirst() {
    let id = TaskID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_0E0F)
    #expect(id.bytes == Array(0...15))
    #expect(TaskID(bytes: []) == nil)
    #expect(TaskID(bytes: Array(0...14)) == nil)
    #expect(TaskID(bytes: Array(0...16)) == nil)
  }

  @Test(arguments: [UInt64.min, .max, 0x5555_5555_5555_5555, 0xAAAA_AAAA_AAAA_AAAA])
  func newIdsAreUUIDv7(_ random: UInt64) throws {
    let id = TaskID(at: Self.time, random: (random, random))
    let text = Array(id.description.dropFirst(4))
    #expect(text[14] == "7")
    #expect("89ab".contains(text[19]))
    #expect(id.high >> 16 == 1_769_860_800_123)
    #expect(id.high & 0xFFF == random & 0xFFF)
    #expect(id.low & 0x3FFF_FFFF_FFFF_FFFF == random & 0x3FFF_FFFF_FFFF_FFFF)
    #expect(TaskID(id.description) == id)
  }

  @Test func idsSortByTimeAsTextAndAsBytes() throws {
    var generator = SplitMix64(seed: 2)
    var last = TaskID(at: Self.time, random: (.max, .max))
    for step in 1...500 {
      let next = TaskID(
        at: Timestamp(microseconds: Self.time.microseconds + Int64(step) * 1000),
        random: (generator.next(), generator.next()))
      try #require(last < next)
      try #require(last.description < next.description)
      try #require(last.bytes.lexicographicallyPrecedes(next.bytes))
      last = next
    }
  }

  @Test func lowWordBreaksTies() {
    #expect(TaskID(high: 1, low: 1) < TaskID(high: 1, low: 2))
    #expect(TaskID(high: 1, low: .max) < TaskID(high: 2, low: 0))
    #expect(!(TaskID(high: 1, low: 1) < TaskID(high: 1, low: 1)))
  }

  @Test(arguments: [
    "", "tsk_", "ses_01923456-789a-7bcd-8ef0-123456789abc", "01923456-789a-7bcd-8ef0-123456789abc",
    "TSK_01923456-789a-7bcd-8ef0-123456789abc", "tsk_01923456-789A-7bcd-8ef0-123456789abc",
    "tsk_01923456-789a-7bcd-8ef0-123456789ab", "tsk_01923456-789a-7bcd-8ef0-123456789abcd",
    "tsk_01923456789a7bcd8ef0123456789abc", "tsk_01923456-789a-7bcd-8ef0_123456789abc",
    "tsk_0192345-6789a-7bcd-8ef0-123456789abc", "tsk_g1923456-789a-7bcd-8ef0-123456789abc",
    " tsk_01923456-789a-7bcd-8ef0-123456789abc", "tsk_shared", "ses_shared",
  ])
  func `other texts are refused`(_ text: String) { #expect(TaskID(text) == nil) }

  /// Clients see one name; the ledger, files and logs distinguish the sessions.
  @Test func `shared sessions of all tenants have the same name for clients`() throws {
    let first = SessionID(sharedBy: (0x1234_5678_9ABC_DEF0, .max))
    let second = SessionID(sharedBy: (0x1234_5678_9ABC_DEF0, 0))
    #expect(first.description == "ses_00000000-0000-8ef0-bfff-ffffffffffff")
    #expect(Set([first, second, .shared]).count == 3)
    for id in [first, second, .shared] {
      var writer = JSONWriter()
      id.encode(into: &writer)
      #expect(String(decoding: writer.bytes, as: UTF8.self) == #""ses_shared""#)
      #expect(id.isShared && id.milliseconds == 0 && SessionID(id.description) == id)
      #expect(SessionID(bytes: id.bytes) == id)
    }
  }

  @Test func `shared session has a name`() {
    #expect(SessionID.shared.description == "ses_shared")
    #expect(SessionID("ses_shared") == .shared)
    #expect(SessionID("ses_Shared") == nil)
    #expect(SessionID("ses_sharedx") == nil)
    #expect(DeliveryID("whd_shared") == nil)
    #expect(SessionID(bytes: SessionID.shared.bytes) == .shared)
    #expect(SessionID.shared.isShared && !SessionID(at: Timestamp(seconds: 1), random: (0, 0)).isShared)
    #expect(TaskID(high: 0, low: 0).description == "tsk_00000000-0000-0000-0000-000000000000")
  }
}
