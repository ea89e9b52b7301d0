internal import Addresses
internal import HTTPFields

/// The exceptions of a proxy configuration. Lookup time depends on the length of the host name, not on the number of exceptions.
package struct ProxyExceptions: Sendable, Equatable {
  /// The exceptions in their original order.
  package let all: [ProxyException]
  private struct Rule: Hashable {
    let subject: ProxyException.Subject
    let port: Int?

    func hash(into hasher: inout Hasher) {
      switch subject {
      case .everything, .host: break
      case .address(let address): hasher.combine(address)
      case .network(let network): hasher.combine(network)
      }
      if let port { hasher.combine(port) }
    }
  }
  /// Host exceptions: `name`, or `name:port` if the exception has a port.
  private var hosts: Set<String> = []
  /// All exceptions other than host exceptions.
  private var rules: Set<Rule> = []
  /// The prefix lengths of all network exceptions.
  private var prefixLengths: Set<Int> = []

  package init(_ all: [ProxyException] = []) {
    self.all = all
    let count = all.count { $0.isHost }
    hosts.reserveCapacity(count)
    rules.reserveCapacity(all.count - count)
    for exception in all {
      switch exception.subject {
      case .host(let host):
        hosts.insert(host)
        continue
      case .network(let network): prefixLengths.insert(network.prefixLength)
      default: break
      }
      rules.insert(Rule(subject: exception.subject, port: exception.port))
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
    // The name, and each parent domain.
    var name = Substring(host)
    while true {
      let domain = String(name)
      if hosts.contains(domain) || hosts.contains("\(domain):\(port)") { return true }
      guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
      name = name[name.utf8.index(after: dot)...]
    }
  }
}

/// The origins that are reached without a proxy: `*`, a host with its subdomains, an address, or a network (CIDR). A host or an address may
/// have a port.
package struct ProxyException: Sendable, Equatable {
  enum Subject: Sendable, Hashable {
    case everything
    /// `name`, or `name:port`, with its subdomains.
    case host(String)
    case address(IPAddress)
    case network(IPNetwork)
  }

  package let text: String
  let subject: Subject
  /// `nil` for every port.
  let port: Int?

  var isHost: Bool { if case .host = subject { true } else { false } }

  package init?(_ text: String) {
    var (colons, dots, isNetwork, hasUppercase) = (0, 0, false, false)
    do {
      let bytes = text.utf8Span.span
      guard !bytes.isEmpty else { return nil }
      for place in bytes.indices {
        switch bytes[place] {
        case 0...0x20, UInt8(ascii: ","): return nil
        case UInt8(ascii: "/"): isNetwork = true
        case UInt8(ascii: ":"): colons += 1
        case UInt8(ascii: "."): dots += 1
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): hasUppercase = true
        default: break
        }
      }
    }
    self.text = text
    let text = hasUppercase ? text.lowercasedASCII : text
    let bytes = text.utf8Span.span
    if isNetwork {
      guard let network = IPNetwork(bytes) else { return nil }
      (subject, port) = (.network(network), nil)
      return
    }
    // Other texts are no addresses, or have a port.
    if colons > 1 || dots == 3 && colons == 0, let address = IPAddress(bytes) {
      (subject, port) = (.address(address), nil)
      return
    }
    var name = 0..<bytes.count
    var port: Int?
    // Whether the port is in its shortest form, without a sign or leading zeros.
    var isPlain = true
    if colons > 0 {
      var colon = bytes.count - 1
      while bytes[colon] != UInt8(ascii: ":") { colon -= 1 }
      let isSigned = colon + 1 < bytes.count && bytes[colon + 1] == UInt8(ascii: "+")
      let digits = bytes.extracting((colon + (isSigned ? 2 : 1))...)
      guard let number = DecimalDigits.value(digits, most: 65_535), number > 0 else { return nil }
      port = number
      isPlain = !isSigned && digits[0] != UInt8(ascii: "0")
      name = 0..<colon
    }
    if !name.isEmpty, bytes[0] == UInt8(ascii: "[") {
      name = 1..<IPAddress.end(of: bytes.extracting(name), from: 1, at: UInt8(ascii: "]"))
    }
    if name.count > 1, bytes[name.lowerBound] == UInt8(ascii: "*"),
      bytes[name.lowerBound + 1] == UInt8(ascii: ".")
    {
      name = (name.lowerBound + 1)..<name.upperBound
    }
    if !name.isEmpty, bytes[name.lowerBound] == UInt8(ascii: ".") {
      name = (name.lowerBound + 1)..<name.upperBound
    }
    guard !name.isEmpty else { return nil }
    self.port = port
    if name.count == 1, bytes[name.lowerBound] == UInt8(ascii: "*") {
      subject = .everything
    } else if colons > 0 || dots >= 3, let address = IPAddress(bytes.extracting(name)) {
      subject = .address(address)
    } else if isPlain, name.lowerBound == 0 {
      subject = .host(text)
    } else {
      guard let name = try? UTF8Span(validating: bytes.extracting(name)) else { return nil }
      subject = .host(String(copying: name) + (port.map { ":\($0)" } ?? ""))
    }
  }
}
