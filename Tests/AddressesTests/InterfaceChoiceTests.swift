import TestSupport
import Testing

@testable import Addresses

@Suite struct InterfaceChoiceTests {
  /// Wi-Fi is best, then cellular, then a cable to 10.0.0.0/8 only; eth9 is off.
  private static let snapshot = NetworkSnapshot(
    interfaces: [
      NetworkInterface(name: "lo", index: 1, isLoopback: true), NetworkInterface(name: "wlan0", index: 2),
      NetworkInterface(name: "wwan0", index: 3), NetworkInterface(name: "eth0", index: 4),
      NetworkInterface(name: "eth9", index: 5, isUp: false, isRunning: false),
    ],
    routes: [
      NetworkSnapshotTests.route("127.0.0.0/8", 1, .local),
      NetworkSnapshotTests.route("192.168.1.2", 2, .local),
      NetworkSnapshotTests.route("0.0.0.0/0", 2, metric: 600),
      NetworkSnapshotTests.route("0.0.0.0/0", 3, metric: 700),
      NetworkSnapshotTests.route("::/0", 3, metric: 1024), NetworkSnapshotTests.route("10.0.0.0/8", 4),
      NetworkSnapshotTests.route("172.16.0.0/12", 5),
    ])
  struct Row: Sendable {
    let host: String
    let settings: [String]
    let allowed: InterfaceClasses
    let expected: InterfaceChoice
    init(_ host: String, _ settings: [String], _ allowed: InterfaceClasses, _ expected: InterfaceChoice) {
      (self.host, self.settings, self.allowed, self.expected) = (host, settings, allowed, expected)
    }
  }

  private static let cellular = ["wwan*=cellular"]
  private static let both = ["wwan*=cellular", "wlan0=constrained"]
  static let rows = [
    // No restriction applies.
    Row("8.8.8.8", [], [], .any), Row("8.8.8.8", cellular, .all, .any),
    Row("8.8.8.8", cellular, [.cellular, .expensive], .any),
    // Cellular networks are expensive.
    Row("8.8.8.8", cellular, [.expensive, .constrained], .bind("wlan0")),
    Row("8.8.8.8", cellular, [.cellular, .constrained], .bind("wlan0")),
    Row("8.8.8.8", both, [.cellular, .expensive], .bind("wwan0")),
    Row("8.8.8.8", both, [], .forbidden(.cellular)),
    Row("8.8.8.8", both, .cellular, .forbidden(.expensive)),
    Row("8.8.8.8", ["w*=constrained"], [], .forbidden(.constrained)),
    // The longer prefix wins. An interface without a route does not count.
    Row("10.0.0.1", cellular, [], .bind("eth0")),
    Row("10.0.0.1", cellular + ["eth0=expensive"], [], .bind("wlan0")),
    Row("[2001:db8::1]", cellular, [], .forbidden(.cellular)),
    Row("[2001:db8::1]", both, [.cellular, .expensive], .bind("wwan0")),
    Row("[::ffff:10.0.0.1]", cellular, [], .bind("eth0")),
    // Traffic that stays on this machine.
    Row("127.0.0.1", both, [], .any), Row("[::1]", both, [], .any), Row("localhost", both, [], .any),
    Row("192.168.1.2", both, [], .any), Row("127.0.0.1", ["*=cellular"], [], .any),
    // Names follow the default routes.
    Row("example.com", cellular, [], .bind("wlan0")), Row("example.com", both, [], .forbidden(.cellular)),
    Row("example.com", both, [.cellular, .expensive], .bind("wwan0")),
  ]

  @Test(arguments: rows.indices) func `choice follows routes and classes`(_ index: Int) throws {
    let row = Self.rows[index]
    let policy = try InterfacePolicy(parsing: row.settings)
    let choice = InterfaceChoice.choose(
      to: NetworkDestination(host: row.host), in: Self.snapshot, under: policy, allowing: row.allowed)
    #expect(choice == row.expected, "\(row.host) \(row.settings) \(row.allowed)")
  }

  @Test func `names use attached networks without a default route`() throws {
    var snapshot = Self.snapshot
    let policy = try InterfacePolicy(parsing: Self.cellular)
    func choice() -> InterfaceChoice {
      .choose(to: .name, in: snapshot, under: policy, allowing: [])
    }
    snapshot.routes.removeAll { $0.isDefault && $0.interface == 2 }
    #expect(choice() == .forbidden(.cellular))
    snapshot.routes.removeAll(where: \.isDefault)
    #expect(choice() == .bind("eth0"))
    snapshot.routes = [NetworkSnapshotTests.route("fe80::/64", 4), NetworkSnapshotTests.route("ff00::/8", 4)]
    #expect(choice() == .unreachable)
    snapshot.interfaces = []
    #expect(choice() == .unreachable)
  }

  // MARK: Comparison with a naive model

  private struct Machine {
    var snapshot: NetworkSnapshot
    var classes: [String: InterfaceClasses]
    var policy: InterfacePolicy
  }

  private func machine(using generator: inout SplitMix64) throws -> Machine {
    let networks = [
      "0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.1.0/24", "127.0.0.0/8", "10.1.1.7", "::/0",
    ]
    var machine = Machine(snapshot: NetworkSnapshot(), classes: [:], policy: InterfacePolicy())
    var settings: [String] = []
    for index in 1...Int.random(in: 1...5, using: &generator) {
      let isUp = Int.random(in: 0..<6, using: &generator) > 0
      machine.snapshot.interfaces.append(
        NetworkInterface(
          name: "if\(index)", index: index, isUp: isUp,
          isRunning: isUp && Int.random(in: 0..<6, using: &generator) > 0, isLoopback: index == 1))
      var classes: InterfaceClasses = []
      for one in InterfaceClass.allCases where Int.random(in: 0..<4, using: &generator) == 0 {
        classes.insert(InterfaceClasses(one))
        settings.append("if\(index)=\(one.rawValue)")
      }
      if classes.contains(.cellular) { classes.insert(.expensive) }
      machine.classes["if\(index)"] = classes
    }
    for _ in 0..<Int.random(in: 0...8, using: &generator) {
      let network = networks[Int.random(in: 0..<networks.count, using: &generator)]
      let table = [NetworkRoute.Table.main, .main, .main, .local, .fallback][
        Int.random(in: 0..<5, using: &generator)]
      var kind: NetworkRoute.Kind = table == .local ? .local : .unicast
      if table != .local, Int.random(in: 0..<8, using: &generator) == 0 {
        kind = Bool.random(using: &generator) ? .refusal : .continueLookup
      }
      let leads = kind == .unicast || kind == .local
      machine.snapshot.routes.append(
        NetworkRoute(
          to: NetworkSnapshotTests.network(network), table: table, kind: kind,
          interface: leads ? Int.random(in: 1...6, using: &generator) : nil,
          metric: Int.random(in: 0..<3, using: &generator)))
    }
    machine.policy = try InterfacePolicy(parsing: settings)
    return machine
  }

  /// Sorts all routes in the kernel's order of preference, and returns the first permitted one.
  private func naive(_ address: IPAddress, _ machine: Machine, _ allowed: InterfaceClasses) -> InterfaceChoice
  {
    let all = machine.classes.values.reduce(into: InterfaceClasses()) { $0.formUnion($1) }
    if all.subtracting(allowed).isEmpty { return .any }
    let covering = machine.snapshot.routes.filter { $0.destination.contains(address) }.sorted { left, right in
      if left.table != right.table { return left.table.rawValue < right.table.rawValue }
      if left.destination.prefixLength != right.destination.prefixLength {
        return left.destination.prefixLength > right.destination.prefixLength
      }
      return left.metric < right.metric
    }
    if address.isLoopback || covering.contains(where: { $0.table == .local }) { return .any }
    var ways: [(interface: NetworkInterface, rank: [Int])] = []
    for interface in machine.snapshot.interfaces
    where interface.isUp && interface.isRunning && !interface.isLoopback {
      var passed: NetworkRoute.Table?
      let own = covering.filter { $0.interface == nil || $0.interface == interface.index }
      for route in own where route.table != passed {
        if route.kind == .continueLookup {
          passed = route.table
          continue
        }
        if route.kind == .unicast {
          ways.append(
            (
              interface,
              [route.table.rawValue, -route.destination.prefixLength, route.metric, interface.index]
            ))
        }
        break
      }
    }
    ways.sort { $0.rank.lexicographicallyPrecedes($1.rank) }
    let forbidden = { (name: String) in (machine.classes[name] ?? []).subtracting(allowed) }
    if let way = ways.first(where: { forbidden($0.interface.name).isEmpty }) {
      return .bind(way.interface.name)
    }
    for one in [InterfaceClass.cellular, .expensive, .constrained]
    where ways.contains(where: { forbidden($0.interface.name).contains(InterfaceClasses(one)) }) {
      return .forbidden(one)
    }
    return .unreachable
  }

  @Test(arguments: [UInt64(1), 2, 3]) func `choice agrees with the naive model`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let addresses = ["10.1.1.7", "10.1.1.8", "10.1.2.1", "10.2.0.1", "8.8.8.8", "127.0.0.1", "2001:db8::1"]
    var seen: [String: Int] = [:]
    for step in 0..<2000 {
      let machine = try machine(using: &generator)
      let text = addresses[Int.random(in: 0..<addresses.count, using: &generator)]
      let address = try #require(IPAddress(text))
      let allowed = InterfaceClasses(rawValue: UInt8.random(in: 0...7, using: &generator))
      let choice = InterfaceChoice.choose(
        to: .address(address), in: machine.snapshot, under: machine.policy, allowing: allowed)
      try #require(choice == naive(address, machine, allowed), "step \(step): \(text) \(allowed) \(machine)")
      seen["\(choice)".prefix { $0 != "(" }.description, default: 0] += 1
    }
    #expect(seen.count == 4 && seen.values.allSatisfy { $0 > 50 }, "\(seen)")
  }
}
