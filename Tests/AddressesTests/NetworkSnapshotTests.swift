import Testing

@testable import Addresses

@Suite struct NetworkSnapshotTests {
  /// lo, eth0 with 192.0.2.0/24 and a default route, eth1 with 10.0.0.0/8 and no carrier, eth2 down, eth3 with a worse default route.
  static let snapshot = NetworkSnapshot(
    interfaces: [
      NetworkInterface(name: "lo", index: 1, isLoopback: true), NetworkInterface(name: "eth0", index: 2),
      NetworkInterface(name: "eth1", index: 3, isRunning: false),
      NetworkInterface(name: "eth2", index: 4, isUp: false, isRunning: false),
      NetworkInterface(name: "eth3", index: 5),
    ],
    routes: [
      route("127.0.0.0/8", 1, .local), route("192.0.2.7", 2, .local), route("::1", 1, .local),
      route("0.0.0.0/0", 5, metric: 600), route("0.0.0.0/0", 2, metric: 100), route("192.0.2.0/24", 2),
      route("10.0.0.0/8", 3), route("10.1.0.0/16", 2), route("172.16.0.0/12", 4),
      NetworkRoute(to: network("203.0.113.0/24"), kind: .refusal, interface: nil),
      route("203.0.113.9", 2), route("2001:db8::/32", 2, metric: 1024), route("2001:db8:1::/48", 3),
      NetworkRoute(to: network("198.51.100.0/24"), kind: .continueLookup, interface: nil),
      NetworkRoute(to: network("198.51.100.0/25"), table: .fallback, interface: 5),
      NetworkRoute(to: network("198.18.0.0/15"), interface: 99),
    ])

  static func network(_ text: String) -> IPNetwork {
    guard let network = IPNetwork(text) else { preconditionFailure(text) }
    return network
  }
  static func route(
    _ to: String, _ interface: Int, _ table: NetworkRoute.Table = .main, metric: Int = 0
  ) -> NetworkRoute {
    NetworkRoute(
      to: network(to), table: table, kind: table == .local ? .local : .unicast, interface: interface,
      metric: metric)
  }

  @Test(
    arguments: [
      ("8.8.8.8", 2, true), ("127.1.2.3", 1, true), ("192.0.2.7", 2, true), ("192.0.2.8", 2, true),
      ("10.2.0.1", 3, false), ("10.1.0.1", 2, true), ("172.16.0.1", 4, false), ("203.0.113.1", nil, false),
      ("203.0.113.9", 2, true), ("198.51.100.1", 5, true), ("198.51.100.200", nil, false),
      ("198.18.0.1", 99, false), ("::ffff:10.2.0.1", 3, false), ("::1", 1, true), ("2001:db8::1", 2, true),
      ("2001:db8:1::1", 3, false), ("2001:db9::1", nil, false),
    ] as [(String, Int?, Bool)])
  func `longest prefix of a table wins`(_ address: String, _ interface: Int?, _ hasRoute: Bool) throws {
    let address = try #require(IPAddress(address))
    #expect(Self.snapshot.route(to: address)?.interface == interface)
    #expect(Self.snapshot.hasRoute(to: address) == hasRoute)
  }

  @Test func `bound socket uses routes of its interface`() throws {
    let address = try #require(IPAddress("10.1.0.1"))
    #expect(Self.snapshot.route(to: address, through: 2)?.destination.prefixLength == 16)
    #expect(Self.snapshot.route(to: address, through: 3)?.destination.prefixLength == 8)
    #expect(Self.snapshot.route(to: address, through: 5)?.isDefault == true)
    #expect(Self.snapshot.route(to: address, through: 4) == nil)
    let refused = try #require(IPAddress("203.0.113.1"))
    #expect(Self.snapshot.route(to: refused, through: 5)?.kind == .refusal)
  }

  @Test func `lost routes and interfaces are noticed`() {
    let full = Self.snapshot
    func isMissed(_ change: (inout NetworkSnapshot) -> Void) -> Bool {
      var rest = full
      change(&rest)
      return rest.hasLost(of: full)
    }
    #expect(!isMissed { _ in })
    #expect(!isMissed { $0.routes.append(Self.route("10.9.0.0/16", 5)) })
    #expect(!full.hasLost(of: NetworkSnapshot()))
    // An address, a route, an interface, a carrier.
    #expect(isMissed { $0.routes.removeAll { $0 == Self.route("192.0.2.7", 2, .local) } })
    #expect(isMissed { $0.routes.removeAll { $0 == Self.route("10.1.0.0/16", 2) } })
    #expect(isMissed { $0.interfaces.removeAll { $0.index == 5 } })
    #expect(isMissed { $0.interfaces[1].isRunning = false })
    // Unusable interfaces, and routes without an interface.
    #expect(!isMissed { $0.routes.removeAll { $0.interface == 3 || $0.interface == nil } })
    #expect(!isMissed { $0.interfaces.removeAll { $0.index == 4 } })
    // Every interface has these routes, including those of containers that end.
    var more = full
    more.routes += [Self.route("fe80::/64", 5), Self.route("fe80::1", 5, .local), Self.route("ff00::/8", 5)]
    #expect(!full.hasLost(of: more))
  }

  @Test(
    arguments: [
      ("192.0.2.1", .address(.v4(0xC000_0201))), ("[::1]", .address(.v6(high: 0, low: 1))),
      ("[fe80::1%25eth0]", .address(.v6(high: 0xFE80_0000_0000_0000, low: 1))), ("localhost", .localhost),
      ("localhost.", .localhost), ("a.localhost", .localhost), ("notlocalhost", .name),
      ("example.com", .name),
    ] as [(String, NetworkDestination)])
  func `host is an address, localhost or a name`(_ host: String, _ expected: NetworkDestination) {
    #expect(NetworkDestination(host: host) == expected)
  }
}
