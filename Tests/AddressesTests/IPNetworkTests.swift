import Testing

@testable import Addresses

@Suite struct IPNetworkTests {
  @Test(arguments: [
    ("10.0.0.0/8", 8), ("0.0.0.0/0", 0), ("1.2.3.4/32", 32), ("1.2.3.4", 32), ("10.1.2.0/23", 23),
    ("::/0", 0), ("fd00::/8", 8), ("2001:db8::/64", 64), ("2001:db8:0:0:8000::/65", 65), ("::1/128", 128),
    ("::1", 128), ("2000::/3", 3),
  ])
  func `valid texts are parsed`(_ text: String, _ length: Int) throws {
    let network = try #require(IPNetwork(text))
    #expect(network.prefixLength == length)
    #expect(network.base == IPAddress(String(text.prefix { $0 != "/" })))
  }

  @Test(arguments: [
    "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "0.0.0.0/-0", "10.0.0.0/8/8",
    "10.0.0.0/a", "10.0.0.1/8", "10.0.0.1/31", "128.0.0.0/0", "fd00::1/64", "::1/127", "::/129",
    "2001:db9::/31",
    "2001:db8::8000:0:0:0/64", "example.com/8", "10.0.0.0 /8", "10.0.0.0/ 8",
  ])
  func `invalid texts are refused`(_ text: String) { #expect(IPNetwork(text) == nil) }

  @Test(arguments: [
    ("10.0.0.0/8", "10.0.0.0", true), ("10.0.0.0/8", "10.255.255.255", true),
    ("10.0.0.0/8", "11.0.0.0", false),
    ("10.0.0.0/8", "9.255.255.255", false), ("1.2.3.4", "1.2.3.4", true), ("1.2.3.4", "1.2.3.5", false),
    ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::", false), ("::/0", "0.0.0.0", false),
    ("::/0", "ffff::1", true), ("2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff", true),
    ("2001:db8::/64", "2001:db8:0:1::", false), ("2001:db8::/65", "2001:db8::7fff:0:0:0", true),
    ("2001:db8::/65", "2001:db8::8000:0:0:0", false), ("::1", "::1", true), ("::1", "::2", false),
    ("::/127", "::1", true), ("::/127", "::2", false), ("2000::/3", "3fff::", true),
    ("2000::/3", "4000::", false),
  ])
  func `network contains its addresses only`(_ network: String, _ address: String, _ expected: Bool) throws {
    #expect(try #require(IPNetwork(network)).contains(try #require(IPAddress(address))) == expected)
  }
}
