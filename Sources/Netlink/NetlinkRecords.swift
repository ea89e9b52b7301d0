internal import Addresses
internal import CNetlink

/// The conversion of messages to values. Malformed messages have no value.
enum NetlinkRecords {
  /// Reads RTM_NEWLINK (`ifinfomsg`), without the interface's addresses.
  static func interface(_ payload: NetlinkBytes) -> NetworkInterface? {
    guard let index = payload.number(at: 4, as: Int32.self), index > 0,
      let flags = payload.number(at: 8, as: UInt32.self)
    else { return nil }
    let attributes = NetlinkAttributes(payload.part(from: 16))
    guard let name = attributes[IFLA_IFNAME]?.text, !name.isEmpty else { return nil }
    let carries = cnetlink_iff_running | cnetlink_iff_lower_up
    return NetworkInterface(
      name: name, index: Int(index), isUp: flags & cnetlink_iff_up != 0,
      isRunning: flags & carries == carries, isLoopback: flags & cnetlink_iff_loopback != 0)
  }

  /// Reads RTM_NEWADDR (`ifaddrmsg`).
  static func address(_ payload: NetlinkBytes) -> (interface: Int, address: IPAddress)? {
    guard let family = payload.number(at: 0, as: UInt8.self),
      let index = payload.number(at: 4, as: UInt32.self)
    else { return nil }
    let attributes = NetlinkAttributes(payload.part(from: 8))
    // On a point-to-point link IFA_ADDRESS is the peer's address.
    guard let bytes = attributes[IFA_LOCAL] ?? attributes[IFA_ADDRESS],
      let address = address(bytes, family: family)
    else { return nil }
    return (Int(index), address)
  }

  /// Reads RTM_NEWROUTE (`rtmsg`): a route for each next hop. Tables that only rules use are ignored.
  static func routes(_ payload: NetlinkBytes) -> [NetworkRoute] {
    guard let family = payload.number(at: 0, as: UInt8.self),
      let prefixLength = payload.number(at: 1, as: UInt8.self),
      let shortTable = payload.number(at: 4, as: UInt8.self),
      let type = payload.number(at: 7, as: UInt8.self),
      let flags = payload.number(at: 8, as: UInt32.self), flags & UInt32(RTM_F_CLONED) == 0
    else { return [] }
    let attributes = NetlinkAttributes(payload.part(from: 12))
    guard let table = table(attributes.number(RTA_TABLE.rawValue) ?? Int(shortTable)),
      let kind = kind(type), let anywhere = anywhere(family),
      let base = attributes[RTA_DST.rawValue].map({ address($0, family: family) }) ?? anywhere,
      let destination = IPNetwork(around: base, prefixLength: Int(prefixLength))
    else { return [] }
    let metric = attributes.number(RTA_PRIORITY.rawValue) ?? 0
    return hops(attributes, kind, flags).map {
      NetworkRoute(to: destination, table: table, kind: kind, interface: $0, metric: metric)
    }
  }

  /// Returns the outgoing interfaces of a route. Like the kernel, it skips dead next hops.
  private static func hops(
    _ attributes: NetlinkAttributes, _ kind: NetworkRoute.Kind, _ flags: UInt32
  ) -> [Int?] {
    let isDead = { (flags: UInt32) in flags & UInt32(RTNH_F_DEAD) != 0 }
    guard kind == .unicast || kind == .local else { return [nil] }
    if let bytes = attributes[RTA_MULTIPATH.rawValue] {
      // rtnexthop: length, flags, weight, interface
      let size: (NetlinkBytes) -> Int? = { $0.number(at: 0, as: UInt16.self).map { Int($0) } }
      return bytes.blocks(header: 8, length: size).compactMap { hop in
        guard let flags = hop.number(at: 2, as: UInt8.self), let index = hop.number(at: 4, as: Int32.self),
          !isDead(UInt32(flags))
        else { return nil }
        return Int(index)
      }
    }
    guard let index = attributes.number(RTA_OIF.rawValue), !isDead(flags) else { return [] }
    return [index]
  }

  private static func table(_ number: Int) -> NetworkRoute.Table? {
    switch number {
    case Int(RT_TABLE_LOCAL.rawValue): .local
    case Int(RT_TABLE_MAIN.rawValue): .main
    case Int(RT_TABLE_DEFAULT.rawValue): .fallback
    default: nil
    }
  }

  private static func kind(_ type: UInt8) -> NetworkRoute.Kind? {
    switch Int(type) {
    case Int(RTN_UNICAST): .unicast
    case Int(RTN_LOCAL): .local
    case Int(RTN_UNREACHABLE), Int(RTN_PROHIBIT), Int(RTN_BLACKHOLE): .refusal
    case Int(RTN_THROW): .continueLookup
    default: nil
    }
  }

  private static func anywhere(_ family: UInt8) -> IPAddress? {
    switch Int32(family) {
    case AF_INET: .v4(0)
    case AF_INET6: .v6(high: 0, low: 0)
    default: nil
    }
  }

  private static func address(_ bytes: NetlinkBytes, family: UInt8) -> IPAddress? {
    switch Int32(family) {
    case AF_INET: bytes.number(at: 0, as: UInt32.self).map { .v4(UInt32(bigEndian: $0)) }
    case AF_INET6:
      if let high = bytes.number(at: 0, as: UInt64.self), let low = bytes.number(at: 8, as: UInt64.self) {
        .v6(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
      } else {
        nil
      }
    default: nil
    }
  }
}
