package import JSON

extension SessionConfiguration {
  /// Reads the contract's properties. A property that this version cannot honour yet is refused unless it has the
  /// contract's default: nothing that was asked for is silently ignored.
  package init(validating reader: inout ObjectReader) {
    self.init()
    timeoutIntervalForRequest =
      reader.number("timeoutIntervalForRequest", in: 0.001...31_536_000) ?? timeoutIntervalForRequest
    timeoutIntervalForResource =
      reader.number("timeoutIntervalForResource", in: 0.001...31_536_000) ?? timeoutIntervalForResource
    httpMaximumConnectionsPerHost =
      reader.integer("httpMaximumConnectionsPerHost", in: 1...4096) ?? httpMaximumConnectionsPerHost
    httpShouldUsePipelining = reader.bool("httpShouldUsePipelining") ?? false
    if let value = reader.value("httpAdditionalHeaders") {
      httpAdditionalHeaders = HTTPHeaders(
        validating: value, at: reader.pointer(to: "httpAdditionalHeaders"), reader.violations)
    }
    readTLSVersions(&reader)
    tlsAdditionalRootCertificates = reader.string("tlsAdditionalRootCertificates")
    if let value = reader.value("tlsPinnedPublicKeys") {
      tlsPinnedPublicKeys = PinnedHost.read(
        value, at: reader.pointer(to: "tlsPinnedPublicKeys"), reader.violations)
    }
    if var fields = reader.object("proxies") { proxies = ProxyConfiguration(validating: &fields) }
    urlCredentialStorage = reader.bool("urlCredentialStorage") ?? true
    maximumBytesPerSecond = reader.integer("maximumBytesPerSecond", in: 1...1_000_000_000_000)
    bodyRetention = reader.number("bodyRetention", in: 1...31_536_000) ?? bodyRetention
    Self.refuseUnavailable(&reader)
    reader.finish()
  }

  private mutating func readTLSVersions(_ reader: inout ObjectReader) {
    let minimum: TLSVersion? = reader.choice("tlsMinimumSupportedProtocolVersion")
    let maximum: TLSVersion? = reader.choice("tlsMaximumSupportedProtocolVersion")
    tlsMinimumSupportedProtocolVersion = minimum ?? min(tlsMinimumSupportedProtocolVersion, maximum ?? .v13)
    tlsMaximumSupportedProtocolVersion = maximum ?? tlsMaximumSupportedProtocolVersion
    if tlsMinimumSupportedProtocolVersion > tlsMaximumSupportedProtocolVersion {
      reader.reject(
        "tlsMinimumSupportedProtocolVersion", "must not be above tlsMaximumSupportedProtocolVersion")
    }
  }

  /// Properties of the contract that are not built yet, and their default: any other value is refused.
  private static let fixed: [(name: String, value: JSONValue)] = [
    ("named", .null), ("requestCachePolicy", .string("useProtocolCachePolicy")),
    ("httpShouldSetCookies", .bool(true)),
    ("httpCookieAcceptPolicy", .string("onlyFromMainDocumentDomain")),
    ("urlCache", .null), ("waitsForConnectivity", .bool(false)),
    ("allowsCellularAccess", .bool(true)), ("allowsExpensiveNetworkAccess", .bool(true)),
    ("allowsConstrainedNetworkAccess", .bool(true)), ("isDiscretionary", .bool(false)),
    ("sessionSendsLaunchEvents", .bool(true)), ("retry", .null),
  ]

  private static func refuseUnavailable(_ reader: inout ObjectReader) {
    for (name, only) in fixed {
      guard let value = reader.value(name), value != only else { continue }
      let text = String(decoding: only.json, as: UTF8.self)
      reader.reject(
        name, "is not available in this version" + (only.isNull ? "" : "; only its default is taken: \(text)")
      )
    }
  }
}

extension TLSVersion: Comparable {
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension HTTPHeaders {
  /// Fields that the service sets itself (URLRequest's reserved headers that would break the framing).
  private static let reserved = [
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer",
  ]

  /// Reads an object of names and values.
  package init(validating value: JSONValue, at pointer: String, _ violations: Violations) {
    self.init()
    guard let members = value.members else {
      violations.add(pointer, "must be an object of strings, not \(value.kind)")
      return
    }
    for member in members {
      let place = JSONPointer.appending(member.name, to: pointer)
      if !Self.isValid(name: member.name) {
        violations.add(place, "is not a header field name (RFC 9110)")
      } else if Self.reserved.contains(where: { Self.equal($0, member.name) }) {
        violations.add(place, "is set by the service")
      } else if let text = member.value.string, Self.isValid(value: text) {
        append(member.name, text)
      } else {
        violations.add(place, "must be a string without control characters")
      }
    }
  }
}
