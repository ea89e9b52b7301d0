/// Origins that are reached without a proxy. Lookup time depends on the length of the host name, not on the number of exceptions.
package struct ProxyExceptions: Sendable, Equatable {
  /// As they were given.
  package let all: [ProxyException]
  private struct Rule: Hashable {
    let subject: ProxyException.Subject
    let port: Int?
  }
  private var rules: Set<Rule> = []
  /// Of the networks among them.
  private var prefixLengths: Set<Int> = []

  package init(_ all: [ProxyException] = []) {
    self.all = all
    rules.reserveCapacity(all.count)
    for exception in all {
      rules.insert(Rule(subject: exception.subject, port: exception.port))
      if case .network(let network) = exception.subject { prefixLengths.insert(network.prefixLength) }
    }
  }

  package static func == (left: Self, right: Self) -> Bool { left.all == right.all }

  package func cover(host: String, port: Int) -> Bool {
    func has(_ subject: ProxyException.Subject) -> Bool {
      rules.contains(Rule(subject: subject, port: nil)) || rules.contains(Rule(subject: subject, port: port))
    }
    if has(.everything) { return true }
    if let address = IPAddress(host) {
      return has(.address(address))
        || prefixLengths.contains { length in
          IPNetwork(around: address, prefixLength: length).map { has(.network($0)) } ?? false
        }
    }
    // The name, and each domain above it.
    var name = Substring(host)
    while true {
      if has(.host(String(name))) { return true }
      guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
      name = name[name.utf8.index(after: dot)...]
    }
  }
}

/// Origins that are reached without a proxy: `*`, a host with its subdomains, an address, a network (CIDR). A host or an address
/// may have a port.
package struct ProxyException: Sendable, Equatable {
  enum Subject: Sendable, Hashable {
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
    var bytes = Array(text.utf8)
    var (slash, colon): (Int?, Int?) = (nil, nil)
    for place in bytes.indices {
      bytes[place] = HTTPHeaders.lowercase(bytes[place])
      let byte = bytes[place]
      guard byte > 0x20, byte != UInt8(ascii: ",") else { return nil }
      if byte == UInt8(ascii: "/") { slash = place }
      if byte == UInt8(ascii: ":") { colon = place }
    }
    guard !bytes.isEmpty else { return nil }
    self.text = text
    if slash != nil {
      guard let network = IPNetwork(bytes[...]) else { return nil }
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
      guard let number = Self.port(bytes[(colon + 1)...]) else { return nil }
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

  /// 1 to 65535; a plus sign may stand before it.
  private static func port(_ text: ArraySlice<UInt8>) -> Int? {
    let digits = text.first == UInt8(ascii: "+") ? text.dropFirst() : text
    guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    let number = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 65_536) }
    return (1...65_535).contains(number) ? number : nil
  }
}
