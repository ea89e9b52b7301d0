import Addresses
import TestSupport
import Testing

@testable import Netlink

/// Messages in the kernel's format on this machine.
enum Written {
  static func number(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

  static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: -value.count & 3)
    return number(UInt16(value.count + 4)) + number(type) + value + padding
  }

  static func message(
    _ type: UInt16, flags: UInt16 = 2, sequence: UInt32 = 1, port: UInt32 = 77, _ payload: [UInt8]
  ) -> [UInt8] {
    number(UInt32(payload.count + 16)) + number(type) + number(flags) + number(sequence) + number(port)
      + payload + [UInt8](repeating: 0, count: -payload.count & 3)
  }

  /// `ifinfomsg`
  static func link(_ name: String, _ index: Int32, flags: UInt32) -> [UInt8] {
    [0, 0, 1, 0] + number(index) + number(flags) + number(UInt32(0)) + attribute(3, Array(name.utf8) + [0])
  }
  /// `ifaddrmsg`
  static func address(_ index: UInt32, _ family: UInt8, _ attributes: [UInt8]) -> [UInt8] {
    [family, 24, 0, 0] + number(index) + attributes
  }
  /// `rtmsg`
  static func route(
    _ prefix: UInt8, family: UInt8 = 2, table: UInt8 = 254, type: UInt8 = 1, flags: UInt32 = 0,
    _ attributes: [UInt8]
  ) -> [UInt8] {
    [family, prefix, 0, 0, table, 3, 0, type] + number(flags) + attributes
  }
  static func out(_ index: Int32) -> [UInt8] { attribute(4, number(index)) }
}

@Suite(.serialized, .blocking) struct NetlinkParsingTests {
  private func routes(_ bytes: [UInt8]) -> [NetworkRoute] { NetlinkRecords.routes(NetlinkBytes(bytes)) }
  private func network(_ text: String) throws -> IPNetwork { try #require(IPNetwork(text)) }

  @Test(arguments: [
    (UInt32(0x1_0049), true, true, true), (0x1_0043, true, true, false), (0x1003, true, false, false),
    (0x1_0003, true, false, false), (0x43, true, false, false), (0x1002, false, false, false),
  ]) func `flags of a link are parsed`(_ flags: UInt32, _ isUp: Bool, _ isRunning: Bool, _ isLoopback: Bool) {
    let link = NetlinkRecords.interface(NetlinkBytes(Written.link("eth0", 3, flags: flags)))
    let expected = NetworkInterface(
      name: "eth0", index: 3, isUp: isUp, isRunning: isRunning, isLoopback: isLoopback)
    #expect(link == expected)
  }

  @Test func `address is the local end`() {
    let bytes = Written.address(
      4, 2, Written.attribute(1, [10, 0, 0, 2]) + Written.attribute(2, [10, 0, 0, 1]))
    let four = NetlinkRecords.address(NetlinkBytes(bytes))
    #expect(four?.interface == 4 && four?.address == .v4(0x0A00_0001))
    let loopback = [UInt8](repeating: 0, count: 15) + [1]
    let six = NetlinkRecords.address(NetlinkBytes(Written.address(1, 10, Written.attribute(1, loopback))))
    #expect(six?.address == .v6(high: 0, low: 1))
    #expect(NetlinkRecords.address(NetlinkBytes(Written.address(1, 10, Written.attribute(1, [1])))) == nil)
    #expect(NetlinkRecords.address(NetlinkBytes(Written.address(1, 7, []))) == nil)
  }

  @Test func `routes of every kind are parsed`() throws {
    let (anywhere, ten) = (try network("0.0.0.0/0"), Written.attribute(1, [10, 0, 0, 0]))
    let metric = Written.attribute(6, Written.number(UInt32(100)))
    #expect(
      routes(Written.route(0, Written.out(2) + metric)) == [
        NetworkRoute(to: anywhere, interface: 2, metric: 100)
      ])
    #expect(
      routes(Written.route(0, family: 10, Written.out(2))) == [
        NetworkRoute(to: try network("::/0"), interface: 2)
      ])
    #expect(
      routes(Written.route(8, table: 255, type: 2, ten + Written.out(1))) == [
        NetworkRoute(to: try network("10.0.0.0/8"), table: .local, kind: .local, interface: 1)
      ])
    for (type, kind) in [
      (UInt8(6), NetworkRoute.Kind.refusal), (7, .refusal), (8, .refusal), (9, .continueLookup),
    ] {
      #expect(
        routes(Written.route(8, type: type, ten + Written.out(1))) == [
          NetworkRoute(to: try network("10.0.0.0/8"), kind: kind, interface: nil)
        ])
    }
  }

  @Test func `route with several hops has several values`() throws {
    let hops: [[UInt8]] = [(2, 0), (3, 1), (4, 0)].map { (index: Int32, flags: UInt8) in
      let gateway = Written.attribute(5, [10, 0, 0, 1])
      return Written.number(UInt16(8 + gateway.count)) + [flags, 0] + Written.number(index) + gateway
    }
    let found = routes(Written.route(0, Written.attribute(9, hops.flatMap(\.self))))
    #expect(found.map(\.interface) == [2, 4])  // Hop 3 is dead.
  }

  @Test func `irrelevant routes are ignored`() {
    let out = Written.out(2)
    #expect(routes(Written.route(0, table: 100, out)).isEmpty)
    #expect(routes(Written.route(0, Written.attribute(15, Written.number(UInt32(51_820))) + out)).isEmpty)
    #expect(routes(Written.route(0, flags: 0x200, out)).isEmpty)  // cloned
    #expect(routes(Written.route(0, flags: 1, out)).isEmpty)  // dead
    #expect(routes(Written.route(0, type: 3, out)).isEmpty)  // broadcast
    #expect(routes(Written.route(33, Written.attribute(1, [10, 0, 0, 0]) + out)).isEmpty)
    #expect(routes(Written.route(0, family: 128, out)).isEmpty)
    #expect(routes(Written.route(0, [])).isEmpty)
  }

  @Test func `dump sends three requests`() throws {
    var dump = NetlinkDump(sequence: 5)
    func tell(_ bytes: [UInt8]) throws -> NetlinkDump.Progress {
      let message = try #require(NetlinkMessage.all(in: NetlinkBytes(bytes)).first)
      #expect(dump.isAnswered(by: message, to: 77))
      return dump.handle(message)
    }
    #expect(dump.request.count == 32 && dump.request[4] == 18)
    #expect(try tell(Written.message(16, sequence: 5, Written.link("eth0", 3, flags: 0x1_0043))) == .more)
    guard case .ask(let second) = try tell(Written.message(3, sequence: 5, Written.number(Int32(0)))) else {
      Issue.record("no dump was requested")
      return
    }
    #expect(second[4] == 22 && second[8] == 6)
    let address = Written.address(3, 2, Written.attribute(2, [10, 0, 0, 1]))
    #expect(try tell(Written.message(20, sequence: 6, address)) == .more)
    guard case .ask(let third) = try tell(Written.message(3, sequence: 6, Written.number(Int32(0)))) else {
      Issue.record("no dump was requested")
      return
    }
    #expect(third[4] == 26)
    #expect(try tell(Written.message(24, sequence: 7, Written.route(0, Written.out(3)))) == .more)
    let snapshot = NetworkSnapshot(
      interfaces: [NetworkInterface(name: "eth0", index: 3, addresses: [.v4(0x0A00_0001)])],
      routes: [NetworkRoute(to: try network("0.0.0.0/0"), interface: 3)])
    #expect(try tell(Written.message(3, sequence: 7, Written.number(Int32(0)))) == .finished(snapshot))
  }

  @Test func `interrupted or refused dump fails`() throws {
    let done = Written.number(Int32(0))
    for bytes in [
      Written.message(2, Written.number(Int32(-16))), Written.message(3, flags: 0x12, done),
      Written.message(3, Written.number(Int32(-4))),
      Written.message(16, flags: 0x12, Written.link("eth0", 3, flags: 0)) + Written.message(3, done),
    ] {
      var dump = NetlinkDump(sequence: 1)
      let last = NetlinkMessage.all(in: NetlinkBytes(bytes)).map { dump.handle($0) }.last
      #expect(last == .interrupted)
    }
  }

  @Test(arguments: [UInt64(1), 2]) func `random bytes do not crash`(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    let good =
      Written.message(16, Written.link("eth0", 3, flags: 0x1_0043))
      + Written.message(20, Written.address(3, 2, Written.attribute(2, [10, 0, 0, 1])))
      + Written.message(24, Written.route(0, Written.out(3))) + Written.message(3, Written.number(Int32(0)))
    var parsed = 0
    for _ in 0..<20_000 {
      var bytes = good
      if Bool.random(using: &generator) {
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
          bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
        }
        bytes.removeLast(Int.random(in: 0...bytes.count, using: &generator))
      } else {
        let count = Int.random(in: 0...200, using: &generator)
        bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      }
      let whole = NetlinkBytes(bytes)
      var dump = NetlinkDump(sequence: 1)
      for message in NetlinkMessage.all(in: whole) {
        _ = dump.handle(message)
        parsed += 1
      }
      _ = NetlinkRecords.interface(whole)
      _ = NetlinkRecords.address(whole)
      _ = NetlinkRecords.routes(whole)
    }
    #expect(parsed > 10_000)
  }
}
