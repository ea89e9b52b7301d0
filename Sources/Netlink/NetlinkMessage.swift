internal import CNetlink

/// One message of a netlink socket (netlink(7), `nlmsghdr`).
struct NetlinkMessage {
  let type: UInt16
  let flags: UInt16
  let sequence: UInt32
  /// The port of the socket that sent the request; another number or 0 for notifications.
  let port: UInt32
  let payload: NetlinkBytes

  static let headerSize = 16

  /// Returns the messages of one read. A truncated or malformed message ends the list.
  static func all(in bytes: NetlinkBytes) -> [NetlinkMessage] {
    let size: (NetlinkBytes) -> Int? = { $0.number(at: 0, as: UInt32.self).map { Int($0) } }
    return bytes.blocks(header: headerSize, length: size).compactMap(NetlinkMessage.init)
  }

  private init?(_ block: NetlinkBytes) {
    guard let type = block.number(at: 4, as: UInt16.self), let flags = block.number(at: 6, as: UInt16.self),
      let sequence = block.number(at: 8, as: UInt32.self), let port = block.number(at: 12, as: UInt32.self)
    else { return nil }
    self.type = type
    self.flags = flags
    self.sequence = sequence
    self.port = port
    payload = block.part(from: Self.headerSize)
  }

  /// Whether the tables changed during the dump.
  var isInterrupted: Bool { Int32(flags) & NLM_F_DUMP_INTR != 0 }
  var isDone: Bool { type == UInt16(NLMSG_DONE) }
  var isError: Bool { type == UInt16(NLMSG_ERROR) }
}

/// The attributes of a message, after its fixed part (rtnetlink(7), `rtattr`).
struct NetlinkAttributes {
  private var values: [UInt16: NetlinkBytes] = [:]

  init(_ bytes: NetlinkBytes) {
    let size: (NetlinkBytes) -> Int? = { $0.number(at: 0, as: UInt16.self).map { Int($0) } }
    for block in bytes.blocks(header: 4, length: size) {
      guard let type = block.number(at: 2, as: UInt16.self) else { continue }
      values[type & 0x3FFF] = block.part(from: 4)  // The mask removes NLA_F_NESTED and NLA_F_NET_BYTEORDER.
    }
  }

  subscript(_ type: some BinaryInteger) -> NetlinkBytes? { values[UInt16(truncatingIfNeeded: type)] }

  func number(_ type: some BinaryInteger) -> Int? {
    self[type]?.number(at: 0, as: UInt32.self).map { Int($0) }
  }
}
