/// Origins that are reached without a proxy. Lookup time depends on the length of the host name, not on the number of exceptions.
package struct ProxyExceptions: Sendable, Equatable {
  /// As they were given.
  package let all: [ProxyException]
  /// Ports of one host or address.
  private struct Ports {
    var hasAll = false
    var some: Set<Int> = []

    /// - Parameter port: nil: every port.
    mutating func insert(_ port: Int?) {
      if let port { some.insert(port) } else { hasAll = true }
    }
    func contains(_ port: Int) -> Bool { hasAll || some.contains(port) }
  }
  private var names: [String: Ports] = [:]
  private var addresses: [IPAddress: Ports] = [:]
  /// By the bits of their prefix, of which there are few.
  private var networks: [Int: Set<IPNetwork>] = [:]
  private var ofAll = Ports()

  package init(_ all: [ProxyException] = []) {
    self.all = all
    for exception in all {
      switch exception.subject {
      case .everything: ofAll.insert(exception.port)
      case .host(let name): names[name, default: Ports()].insert(exception.port)
      case .address(let address): addresses[address, default: Ports()].insert(exception.port)
      case .network(let network): networks[network.prefixLength, default: []].insert(network)
      }
    }
  }

  package static func == (left: Self, right: Self) -> Bool { left.all == right.all }

  package func cover(host: String, port: Int) -> Bool {
    func isMeant(_ ports: Ports?) -> Bool { ports?.contains(port) ?? false }
    if isMeant(ofAll) { return true }
    if let address = IPAddress(host) {
      return isMeant(addresses[address])
        || networks.contains { prefix, known in
          IPNetwork(around: address, prefixLength: prefix).map(known.contains) ?? false
        }
    }
    // The name, and each domain above it.
    var name = Substring(host)
    while true {
      if isMeant(names[String(name)]) { return true }
      guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
      name = name[name.utf8.index(after: dot)...]
    }
  }
}

/// Origins that are reached without a proxy: `*`, a host with its subdomains, an address, a network (CIDR). A host or an address
/// may have a port.
package struct ProxyException: Sendable, Equatable {
  enum Subject: Sendable, Equatable {
    case everything
    /// With its subdomains.
    case host(String)
    case address(IPAddress)
    case network(IPNetwork)
  }

  package let text: String
  let subject: Subject
  /// nil: every port.
  let port: Int?

  package init?(_ text: String) {
    let bytes = Array(text.lowercased().utf8)
    var (slash, colon): (Int?, Int?) = (nil, nil)
    for (place, byte) in bytes.enumerated() {
      guard byte > 0x20, byte != UInt8(ascii: ",") else { return nil }
      if byte == UInt8(ascii: "/") { slash = place }
      if byte == UInt8(ascii: ":") { colon = place }
    }
    guard !bytes.isEmpty else { return nil }
    self.text = text
    if slash != nil {
      guard let network = IPNetwork(String(decoding: bytes, as: UTF8.self)) else { return nil }
      (subject, port) = (.network(network), nil)
      return
    }
    if let address = IPAddress(bytes[...]) {
      (subject, port) = (.address(address), nil)
      return
    }
    var name = bytes[...]
    var port: Int?
    if let colon {
      guard let number = Int(String(decoding: bytes[(colon + 1)...], as: UTF8.self)),
        (1...65_535).contains(number)
      else { return nil }
      port = number
      name = bytes[..<colon]
    }
    if name.first == UInt8(ascii: "[") { name = name.dropFirst().prefix { $0 != UInt8(ascii: "]") } }
    if name.count > 1, name.first == UInt8(ascii: "*"), name[name.startIndex + 1] == UInt8(ascii: ".") {
      name = name.dropFirst()
    }
    if name.first == UInt8(ascii: ".") { name = name.dropFirst() }
    guard !name.isEmpty else { return nil }
    self.port = port
    if name.count == 1, name.first == UInt8(ascii: "*") {
      subject = .everything
    } else {
      subject = IPAddress(name).map { .address($0) } ?? .host(String(decoding: name, as: UTF8.self))
    }
  }
}
