import Testing

@testable import Addresses

@Suite struct EgressPolicyTests {
  private func verdict(_ address: String, allowing networks: [String] = []) throws -> String? {
    let policy = EgressPolicy(allowedNetworks: try networks.map { try #require(IPNetwork($0)) })
    switch policy.classify(try #require(IPAddress(address))) {
    case .allowed: return nil
    case .denied(let rule): return rule
    }
  }

  /// A range of addresses: the address before it, the first, the last and the one after it, with the rules outside.
  struct Range: Sendable, CustomTestStringConvertible {
    let rule: String
    let before: (String, String?)?
    let first: String
    let last: String
    let after: (String, String?)?
    var testDescription: String { "\(rule) \(first)" }

    init(
      _ rule: String, _ before: (String, String?)?, _ first: String, _ last: String,
      _ after: (String, String?)?
    ) {
      self.rule = rule
      self.before = before
      self.first = first
      self.last = last
      self.after = after
    }
  }

  static let rangesV4 = [
    Range("this-network", nil, "0.0.0.0", "0.255.255.255", ("1.0.0.0", nil)),
    Range("private", ("9.255.255.255", nil), "10.0.0.0", "10.255.255.255", ("11.0.0.0", nil)),
    Range(
      "shared-address-space", ("100.63.255.255", nil), "100.64.0.0", "100.127.255.255", ("100.128.0.0", nil)),
    Range("loopback", ("126.255.255.255", nil), "127.0.0.0", "127.255.255.255", ("128.0.0.0", nil)),
    Range("link-local", ("169.253.255.255", nil), "169.254.0.0", "169.254.255.255", ("169.255.0.0", nil)),
    Range("private", ("172.15.255.255", nil), "172.16.0.0", "172.31.255.255", ("172.32.0.0", nil)),
    Range("ietf-protocol", ("191.255.255.255", nil), "192.0.0.0", "192.0.0.255", ("192.0.1.0", nil)),
    Range("documentation", ("192.0.1.255", nil), "192.0.2.0", "192.0.2.255", ("192.0.3.0", nil)),
    Range("as112", ("192.31.195.255", nil), "192.31.196.0", "192.31.196.255", ("192.31.197.0", nil)),
    Range("amt", ("192.52.192.255", nil), "192.52.193.0", "192.52.193.255", ("192.52.194.0", nil)),
    Range("6to4-relay", ("192.88.98.255", nil), "192.88.99.0", "192.88.99.255", ("192.88.100.0", nil)),
    Range("private", ("192.167.255.255", nil), "192.168.0.0", "192.168.255.255", ("192.169.0.0", nil)),
    Range("as112", ("192.175.47.255", nil), "192.175.48.0", "192.175.48.255", ("192.175.49.0", nil)),
    Range("benchmarking", ("198.17.255.255", nil), "198.18.0.0", "198.19.255.255", ("198.20.0.0", nil)),
    Range("documentation", ("198.51.99.255", nil), "198.51.100.0", "198.51.100.255", ("198.51.101.0", nil)),
    Range("documentation", ("203.0.112.255", nil), "203.0.113.0", "203.0.113.255", ("203.0.114.0", nil)),
    Range("multicast", ("223.255.255.255", nil), "224.0.0.0", "239.255.255.255", ("240.0.0.0", "reserved")),
    Range("reserved", ("239.255.255.255", "multicast"), "240.0.0.0", "255.255.255.255", nil),
  ]

  private static let other: String? = "not-global-unicast"
  static let rangesV6 = [
    Range("unspecified", nil, "::", "::", ("::1", "loopback")),
    Range("loopback", ("::", "unspecified"), "::1", "::1", ("::2", "ipv4-compatible")),
    Range("ipv4-compatible", ("::1", "loopback"), "::2", "::255.255.255.255", ("::1:0:0", other)),
    Range(
      "nat64", ("64:ff9a:ffff::", other), "64:ff9b::", "64:ff9b::255.255.255.255", ("64:ff9b::1:0:0", other)),
    Range(
      "nat64", ("64:ff9b:0:ffff::", other), "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
      ("64:ff9b:2::", other)),
    Range("discard-only", ("ff:ffff::", other), "100::", "100::ffff:ffff:ffff:ffff", ("100:0:0:1::", other)),
    Range(
      "teredo", ("1fff:ffff::", other), "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff",
      ("2001:1::", "ietf-protocol")),
    Range(
      "ietf-protocol", ("2001:0:ffff::", "teredo"), "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
      ("2001:200::", nil)),
    Range(
      "documentation", ("2001:db7:ffff::", nil), "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
      ("2001:db9::", nil)),
    Range("6to4", ("2001:ffff::", nil), "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ("2003::", nil)),
    Range(
      "as112", ("2620:4f:7fff:ffff::", nil), "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
      ("2620:4f:8001::", nil)),
    Range(
      "documentation", ("3ffe:ffff::", nil), "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
      ("3fff:1000::", nil)),
    Range("not-global-unicast", ("3fff:ffff::", nil), "4000::", "5eff:ffff::", ("5f00::", "segment-routing")),
    Range(
      "segment-routing", ("5eff:ffff::", other), "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
      ("5f01::", other)),
    Range(
      "unique-local", ("fbff:ffff::", other), "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
      ("fe00::", other)),
    Range(
      "link-local", ("fe7f:ffff::", other), "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
      ("fec0::", other)),
    Range("multicast", ("feff:ffff::", other), "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil),
  ]

  @Test(arguments: rangesV4 + rangesV6)
  func `ranges end at their bounds`(_ range: Range) throws {
    #expect(try verdict(range.first) == range.rule)
    #expect(try verdict(range.last) == range.rule)
    for outside in [range.before, range.after].compactMap({ $0 }) {
      #expect(try verdict(outside.0) == outside.1, "\(outside.0)")
    }
  }

  @Test(arguments: rangesV4)
  func `mapped addresses are judged as IPv4`(_ range: Range) throws {
    #expect(try verdict("::ffff:\(range.first)") == range.rule)
    #expect(try verdict("::ffff:\(range.last)") == range.rule)
    if let after = range.after { #expect(try verdict("::ffff:\(after.0)") == after.1) }
  }

  @Test(arguments: [
    "1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8",
    "2000::",
  ])
  func `public addresses are allowed`(_ address: String) throws { #expect(try verdict(address) == nil) }

  @Test(
    arguments: [
      ("::%", "ipv4-compatible"), ("64:ff9b::%", "nat64"), ("64:ff9b:1::%", "nat64"),
      ("2002:7f00:1::", "6to4"),
      ("2002:808:808::1", "6to4"), ("2001::%", "teredo"), ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "teredo"),
      ("2606:4700::5efe:%", "isatap"), ("2606:4700::200:5efe:%", "isatap"),
    ], ["8.8.8.8", "127.0.0.1", "169.254.169.254"])
  func `embedded addresses are refused`(_ form: (String, String), _ inner: String) throws {
    let parts = form.0.split(separator: "%", omittingEmptySubsequences: false)
    #expect(try verdict(parts.joined(separator: inner)) == form.1)
  }

  static let metadata = [
    "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254",
    "::ffff:169.254.169.254", "::ffff:168.63.129.16",
  ]

  @Test(arguments: metadata)
  func `metadata address must be opened by itself`(_ address: String) throws {
    let rule = "cloud-metadata"
    #expect(try verdict(address) == rule)
    #expect(try verdict(address, allowing: ["0.0.0.0/0", "::/0"]) == rule)
    #expect(
      try verdict(address, allowing: ["169.254.169.254/31", "fd00:ec2::254/127", "168.63.129.16/31"]) == rule)
    let named = address.hasPrefix("::ffff:") ? String(address.dropFirst(7)) : address
    #expect(try verdict(address, allowing: [named]) == nil)
    #expect(try verdict(address, allowing: ["203.0.113.1/32", "2001:db8::1/128"]) == rule)
  }

  /// IPv4 inside IPv6 is judged as IPv4. An opened translation prefix does not open the metadata.
  @Test(arguments: [
    ("64:ff9b::169.254.169.254", "64:ff9b::/96"), ("64:ff9b::169.254.169.254", "::/0"),
    ("::169.254.169.254", "::/0"), ("2002:a9fe:a9fe::1", "2002::/16"),
  ])
  func `wide network does not open embedded metadata`(_ address: String, _ network: String) throws {
    #expect(try verdict(address, allowing: [network]) != nil)
  }

  @Test(
    arguments: [
      ("127.0.0.1", "127.0.0.0/8", nil), ("127.0.0.1", "127.0.0.1", nil),
      ("127.0.0.2", "127.0.0.1", "loopback"),
      ("::ffff:127.0.0.1", "127.0.0.0/8", nil), ("::1", "127.0.0.0/8", "loopback"), ("::1", "::1", nil),
      ("10.1.2.3", "10.1.0.0/16", nil), ("10.2.2.3", "10.1.0.0/16", "private"), ("fd12::1", "fd00::/8", nil),
      ("fc12::1", "fd00::/8", "unique-local"), ("8.8.8.8", "10.0.0.0/8", nil),
      ("192.168.1.1", "0.0.0.0/0", nil),
      ("fe80::1", "0.0.0.0/0", "link-local"), ("169.254.1.1", "169.254.0.0/16", nil),
      ("64:ff9b::8.8.8.8", "64:ff9b::/96", nil), ("4000::1", "4000::/16", nil),
    ] as [(String, String, String?)])
  func `opened network is allowed`(_ address: String, _ network: String, _ expected: String?) throws {
    #expect(try verdict(address, allowing: [network]) == expected)
  }
}
