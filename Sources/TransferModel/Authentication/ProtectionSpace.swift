package import JSON
internal import Limits

/// The servers and resources that a credential is for (URLProtectionSpace; RFC 9110 §11.5).
package struct ProtectionSpace: Sendable, Hashable {
  /// The host in lower case. An IPv6 address has no brackets.
  package var host: String
  package var port: Int
  /// `http`, `https`, or `socks5` for a proxy.
  package var protocolName: String
  /// `nil` if the method has no realm. In stored entries, `nil` matches any realm.
  package var realm: String? {
    get { exactRealm?.wrappedValue }
    set { exactRealm = newValue.map { ExactText(wrappedValue: $0) } }
  }
  private var exactRealm: ExactText?
  /// In stored entries, `default` stands for every method that uses a password.
  package var authenticationMethod: AuthenticationMethod
  package var isProxy: Bool

  package init(
    host: String, port: Int, protocolName: String, realm: String? = nil,
    authenticationMethod: AuthenticationMethod = .default, isProxy: Bool = false
  ) {
    self.host = host
    self.port = port
    self.protocolName = protocolName
    exactRealm = realm.map { ExactText(wrappedValue: $0) }
    self.authenticationMethod = authenticationMethod
    self.isProxy = isProxy
  }

  /// Returns whether a credential stored for this space may be used in the other one.
  package func covers(_ other: ProtectionSpace) -> Bool {
    guard
      host == other.host, port == other.port, protocolName == other.protocolName, isProxy == other.isProxy,
      realm == nil || exactRealm == other.exactRealm
    else { return false }
    return authenticationMethod == other.authenticationMethod
      || authenticationMethod == .default && other.authenticationMethod.usesPassword
  }

  /// Returns whether this space describes `space` better than another one that also covers it. The realm counts before the method.
  package func isCloser(to space: ProtectionSpace, than other: ProtectionSpace) -> Bool {
    let isSame = exactRealm == space.exactRealm
    if isSame != (other.exactRealm == space.exactRealm) { return isSame }
    return authenticationMethod == space.authenticationMethod
      && other.authenticationMethod != space.authenticationMethod
  }

  /// Returns the order for lists, which is arbitrary but stable.
  package func isListed(before other: ProtectionSpace) -> Bool {
    if host != other.host { return host < other.host }
    if port != other.port { return port < other.port }
    if protocolName != other.protocolName { return protocolName < other.protocolName }
    if isProxy != other.isProxy { return other.isProxy }
    if exactRealm != other.exactRealm {
      guard let realm else { return true }
      return other.realm.map { realm.precedesInBytes($0) } ?? false
    }
    return authenticationMethod.rawValue < other.authenticationMethod.rawValue
  }
}

extension ProtectionSpace: JSONEncodable {
  package func encode(into writer: inout JSONWriter) { writer.object { encodeMembers(into: &$0) } }

  package func encodeMembers(into writer: inout JSONWriter) {
    writer.field("host", host)
    writer.field("port", port)
    writer.field("protocol", protocolName)
    writer.field("realm", realm)
    writer.field("authenticationMethod", authenticationMethod.rawValue)
    writer.field("isProxy", isProxy)
  }

  /// Reads the space for which a client stores a credential. The port defaults to the protocol's.
  package init(validating reader: inout ObjectReader) {
    reader.allowNull("realm")
    let name = reader.string("protocol") ?? "https"
    if !["http", "https", "socks5"].contains(name) {
      reader.reject("protocol", "must be one of http, https, socks5, not '\(name)'")
    }
    self.init(host: "", port: 0, protocolName: name)
    if let text = reader.string("host", upTo: Limits.hostBytes.value) {
      host = String(text.lowercased().drop { $0 == "[" }.prefix { $0 != "]" })
      let isHost = !host.isEmpty && host.utf8.allSatisfy { $0 > 0x20 && !"/?#@\\".utf8.contains($0) }
      if !isHost { reader.reject("host", "must be a host name or an address, without scheme, user and path") }
    } else if reader.isMissing("host") {
      reader.reject("host", "is required")
    }
    let standard = ["http": 80, "https": 443, "socks5": 1080][name] ?? 0
    port = reader.integer("port", in: 1...65_535) ?? standard
    realm = reader.string("realm", upTo: Limits.realmBytes.value)
    authenticationMethod = reader.choice("authenticationMethod") ?? .default
    if authenticationMethod == .serverTrust {
      reader.reject(
        "authenticationMethod",
        "must not be \(AuthenticationMethod.serverTrust.rawValue); trust is decided for each chain, and cannot be stored"
      )
    }
    isProxy = reader.bool("isProxy") ?? false
    reader.finish()
  }
}
