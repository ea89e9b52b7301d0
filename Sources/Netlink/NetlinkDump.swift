internal import Addresses
internal import CNetlink

/// Collects the kernel's answers to the three requests that make a snapshot. The kernel handles one request at a time.
struct NetlinkDump {
  enum Progress: Equatable {
    case more
    /// The next request, to be sent now.
    case ask([UInt8])
    case finished(NetworkSnapshot)
    /// The kernel refused, or the tables changed meanwhile. Start a new dump.
    case interrupted
  }
  private enum Request: Int, CaseIterable {
    case links, addresses, routes

    var type: UInt16 {
      switch self {
      case .links: UInt16(RTM_GETLINK)
      case .addresses: UInt16(RTM_GETADDR)
      case .routes: UInt16(RTM_GETROUTE)
      }
    }
    /// The size of the fixed part: `ifinfomsg`, `ifaddrmsg`, `rtmsg`. All zeros request everything.
    var size: Int {
      switch self {
      case .links: 16
      case .addresses: 8
      case .routes: 12
      }
    }
  }

  private var question = Request.links
  private var sequence: UInt32
  private var interfaces: [NetworkInterface] = []
  private var addresses: [Int: [IPAddress]] = [:]
  private var routes: [NetworkRoute] = []
  private var isSpoilt = false

  /// Makes a dump.
  /// - Parameter sequence: the sequence number of the first request. Later requests count up.
  init(sequence: UInt32) { self.sequence = sequence }

  /// The current request.
  var request: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NetlinkMessage.headerSize + question.size)
    let flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
    bytes.withUnsafeMutableBytes { raw in
      raw.storeBytes(of: UInt32(raw.count), toByteOffset: 0, as: UInt32.self)
      raw.storeBytes(of: question.type, toByteOffset: 4, as: UInt16.self)
      raw.storeBytes(of: flags, toByteOffset: 6, as: UInt16.self)
      raw.storeBytes(of: sequence, toByteOffset: 8, as: UInt32.self)
    }
    return bytes
  }

  /// Whether a message answers the current request.
  func isAnswered(by message: NetlinkMessage, to port: UInt32) -> Bool {
    message.sequence == sequence && message.port == port
  }

  mutating func handle(_ message: NetlinkMessage) -> Progress {
    if message.isInterrupted { isSpoilt = true }
    guard !message.isError else { return .interrupted }
    guard message.isDone else {
      record(message)
      return .more
    }
    // A dump that fails midway ends with its error.
    if isSpoilt || (message.payload.number(at: 0, as: Int32.self) ?? 0) < 0 { return .interrupted }
    guard let next = Request(rawValue: question.rawValue + 1) else { return .finished(snapshot) }
    question = next
    sequence &+= 1
    return .ask(request)
  }

  private mutating func record(_ message: NetlinkMessage) {
    switch Int(message.type) {
    case Int(RTM_NEWLINK):
      if let interface = NetlinkRecords.interface(message.payload) { interfaces.append(interface) }
    case Int(RTM_NEWADDR):
      if let (index, address) = NetlinkRecords.address(message.payload) {
        addresses[index, default: []].append(address)
      }
    case Int(RTM_NEWROUTE): routes += NetlinkRecords.routes(message.payload)
    default: break
    }
  }

  private var snapshot: NetworkSnapshot {
    let whole = interfaces.map { interface in
      var interface = interface
      interface.addresses = addresses[interface.index] ?? []
      return interface
    }
    return NetworkSnapshot(interfaces: whole, routes: routes)
  }
}
