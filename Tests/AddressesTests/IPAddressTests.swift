import TestSupport
import Testing

@testable import Addresses

@Suite struct IPAddressTests {
  @Test(
    arguments: [
      ("0.0.0.0", .v4(0)), ("255.255.255.255", .v4(.max)), ("1.2.3.4", .v4(0x0102_0304)),
      ("::", .v6(high: 0, low: 0)), ("::1", .v6(high: 0, low: 1)), ("1::", .v6(high: 1 << 48, low: 0)),
      ("2001:db8::8:800:200c:417a", .v6(high: 0x2001_0DB8_0000_0000, low: 0x0008_0800_200C_417A)),
      ("2001:DB8:0:0:8:800:200C:417A", .v6(high: 0x2001_0DB8_0000_0000, low: 0x0008_0800_200C_417A)),
      ("1:2:3:4:5:6:7:8", .v6(high: 0x0001_0002_0003_0004, low: 0x0005_0006_0007_0008)),
      ("1:2:3:4:5:6:7::", .v6(high: 0x0001_0002_0003_0004, low: 0x0005_0006_0007_0000)),
      ("::2:3:4:5:6:7:8", .v6(high: 0x0000_0002_0003_0004, low: 0x0005_0006_0007_0008)),
      ("::ffff:1.2.3.4", .v6(high: 0, low: 0xFFFF_0102_0304)), ("::1.2.3.4", .v6(high: 0, low: 0x0102_0304)),
      ("64:ff9b::192.0.2.33", .v6(high: 0x0064_FF9B_0000_0000, low: 0xC000_0221)),
      ("1:2:3:4:5:6:1.2.3.4", .v6(high: 0x0001_0002_0003_0004, low: 0x0005_0006_0102_0304)),
    ] as [(String, IPAddress)])
  func `valid texts are parsed`(_ text: String, _ expected: IPAddress) {
    #expect(IPAddress(text) == expected)
  }

  @Test(arguments: [
    "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "1.2.3.+4", "1.2.3.", ".1.2.3", "1..2.3",
    "a.b.c.d",
    "1.2.3.0004", "1.2.3.4 ", " 1.2.3.4", "0x7f.0.0.1", "2130706433", "1.2.3.４",
    ":", ":::", "1:::2", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::",
    "::1:2:3:4:5:6:7:8",
    "12345::", "g::", ":1::", "1:", "::1:", "::+1", "::-1", "::-0", "[::1]", "fe80::1%eth0", "::1.2.3",
    "::1.2.3.4.5",
    "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4::", "1.2.3.4::1", "1.2.3.4:1:2:3:4:5:6",
  ])
  func `invalid texts are refused`(_ text: String) { #expect(IPAddress(text) == nil) }

  @Test func `text survives a round trip`() throws {
    var generator = SplitMix64(seed: 3)
    for _ in 0..<500 {
      let four = IPAddress.v4(UInt32(truncatingIfNeeded: generator.next()))
      let six = IPAddress.v6(high: generator.next() >> (generator.next() & 63), low: generator.next())
      try #require(IPAddress(four.description) == four)
      try #require(IPAddress(six.description) == six)
    }
  }

  @Test func `only mapped addresses are unmapped`() throws {
    #expect(IPAddress("::ffff:10.0.0.1")?.unmapped == .v4(0x0A00_0001))
    for text in ["::10.0.0.1", "::fffe:10.0.0.1", "1::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "10.0.0.1"] {
      let address = try #require(IPAddress(text))
      #expect(address.unmapped == address)
    }
  }
}
