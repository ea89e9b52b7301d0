package import JSON
internal import Limits

extension SessionConfiguration {
  /// Reads the contract's properties.
  /// - Parameter base: has those that are not named.
  package init(validating reader: inout ObjectReader, over base: SessionConfiguration = .init()) {
    self = base
    requestCachePolicy = reader.choice("requestCachePolicy") ?? requestCachePolicy
    timeoutIntervalForRequest =
      reader.number("timeoutIntervalForRequest", in: 0.001...31_536_000) ?? timeoutIntervalForRequest
    timeoutIntervalForResource =
      reader.number("timeoutIntervalForResource", in: 0.001...31_536_000) ?? timeoutIntervalForResource
    httpMaximumConnectionsPerHost =
      reader.integer("httpMaximumConnectionsPerHost", in: 1...4096) ?? httpMaximumConnectionsPerHost
    httpShouldUsePipelining = reader.bool("httpShouldUsePipelining") ?? httpShouldUsePipelining
    httpShouldSetCookies = reader.bool("httpShouldSetCookies") ?? httpShouldSetCookies
    httpCookieAcceptPolicy = reader.choice("httpCookieAcceptPolicy") ?? httpCookieAcceptPolicy
    if let value = reader.value("httpAdditionalHeaders") {
      httpAdditionalHeaders = HTTPHeaders(
        validating: value, at: reader.pointer(to: "httpAdditionalHeaders"), reader.violations)
    }
    readSecretNames(&reader)
    readTrust(&reader)
    if reader.isNull("proxies") { proxies = ProxyConfiguration() }
    if var fields = reader.object("proxies") { proxies = ProxyConfiguration(validating: &fields) }
    readCache(&reader)
    urlCredentialStorage = reader.bool("urlCredentialStorage") ?? urlCredentialStorage
    waitsForConnectivity = reader.bool("waitsForConnectivity") ?? waitsForConnectivity
    networkAccess = NetworkAccess(validating: &reader, over: networkAccess)
    allowsInsecureRedirects = reader.bool("allowsInsecureRedirects") ?? allowsInsecureRedirects
    networkServiceType = reader.choice("networkServiceType") ?? networkServiceType
    reader.readDNSSEC()
    isDiscretionary = reader.bool("isDiscretionary") ?? isDiscretionary
    sessionSendsLaunchEvents = reader.bool("sessionSendsLaunchEvents") ?? sessionSendsLaunchEvents
    if reader.isNull("retry") { retry = nil }
    if var fields = reader.object("retry") { retry = RetryConfiguration(validating: &fields) }
    if reader.isNull("maximumBytesPerSecond") { maximumBytesPerSecond = nil }
    maximumBytesPerSecond =
      reader.integer("maximumBytesPerSecond", in: 1...1_000_000_000_000) ?? maximumBytesPerSecond
    bodyRetention = reader.number("bodyRetention", in: 1...31_536_000) ?? bodyRetention
    reader.finish(explaining: UnsupportedNames.configuration)
  }

  private mutating func readSecretNames(_ reader: inout ObjectReader) {
    guard let names = reader.strings("secretHeaderFields", upTo: Limits.secretNames.value) else {
      return
    }
    secretHeaderFields = names
    for (index, name) in names.enumerated() {
      if !HTTPHeaders.isValid(name: name) {
        reader.reject("secretHeaderFields", element: index, "is not a header field name (RFC 9110)")
      } else if name.utf8.count > Limits.secretNameBytes.value {
        reader.violations.exceed(
          "\(reader.pointer(to: "secretHeaderFields"))/\(index)",
          "must have at most \(Limits.secretNameBytes.value) bytes, not \(name.utf8.count)")
      }
    }
  }

  private mutating func readTrust(_ reader: inout ObjectReader) {
    let minimum: TLSVersion? = reader.choice("tlsMinimumSupportedProtocolVersion")
    let maximum: TLSVersion? = reader.choice("tlsMaximumSupportedProtocolVersion")
    tlsMinimumSupportedProtocolVersion = minimum ?? min(tlsMinimumSupportedProtocolVersion, maximum ?? .v13)
    tlsMaximumSupportedProtocolVersion = maximum ?? tlsMaximumSupportedProtocolVersion
    if tlsMinimumSupportedProtocolVersion > tlsMaximumSupportedProtocolVersion {
      reader.reject(
        "tlsMinimumSupportedProtocolVersion", "must not be above tlsMaximumSupportedProtocolVersion")
    }
    if reader.isNull("tlsAdditionalRootCertificates") { tlsAdditionalRootCertificates = nil }
    tlsAdditionalRootCertificates =
      reader.certificates("tlsAdditionalRootCertificates", upTo: Limits.roots, bytes: Limits.rootBytes.value)
      ?? tlsAdditionalRootCertificates
    if let value = reader.value("tlsPinnedPublicKeys") {
      tlsPinnedPublicKeys = PinnedHost.read(
        value, at: reader.pointer(to: "tlsPinnedPublicKeys"), reader.violations)
    }
  }

  private mutating func readCache(_ reader: inout ObjectReader) {
    // As Apple has it: a session whose urlCache is nil caches nothing.
    if reader.isNull("urlCache") { urlCache = .none }
    guard var fields = reader.object("urlCache") else { return }
    let limit = 0...(1 << 44)
    urlCache.memoryCapacity = fields.integer("memoryCapacity", in: limit) ?? urlCache.memoryCapacity
    urlCache.diskCapacity = fields.integer("diskCapacity", in: limit) ?? urlCache.diskCapacity
    fields.finish()
  }
}

extension RetryConfiguration {
  init(validating reader: inout ObjectReader) {
    self.init()
    reader.allowNull("maximumAttempts")
    maximumAttempts = reader.integer("maximumAttempts", in: 1...1_000_000)
    backoff = reader.number("backoff", in: 0.001...86_400) ?? backoff
    reader.finish()
  }
}

extension NetworkAccess {
  /// Reads the switches among a configuration's or a request's members.
  init(validating reader: inout ObjectReader, over base: NetworkAccess = .init()) {
    self = base
    allowsCellularAccess = reader.bool("allowsCellularAccess") ?? allowsCellularAccess
    allowsExpensiveNetworkAccess = reader.bool("allowsExpensiveNetworkAccess") ?? allowsExpensiveNetworkAccess
    allowsConstrainedNetworkAccess =
      reader.bool("allowsConstrainedNetworkAccess") ?? allowsConstrainedNetworkAccess
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

  /// Bytes of a streamed body, as its client says them.
  private static func streamLength(_ value: JSONValue) -> Int64? {
    guard let text = value.string, !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }),
      let length = Int64(text), length <= Limits.streamBytes.value
    else { return nil }
    return length
  }

  /// Reads an object of names and values: of a request, whose framing is the service's.
  /// - Parameter isOfStream: of a request whose body is streamed: `Content-Length` is the client's to set, once.
  package init(
    validating value: JSONValue, at pointer: String, _ violations: Violations, isOfStream: Bool = false
  ) {
    let length = "Content-Length"
    let refused = "must be a number of bytes as digits, once, and at most \(Limits.streamBytes.value)"
    self.init(validating: value, at: pointer, violations) { name, value in
      guard isOfStream, Self.equal(length, name) else {
        return Self.reserved.contains { Self.equal($0, name) } ? "is set by the service" : nil
      }
      return Self.streamLength(value) == nil ? refused : nil
    }
    guard isOfStream, let text = self[length] else { return }
    guard let bytes = Int64(text) else {
      violations.add(JSONPointer.appending(length, to: pointer), refused)
      return
    }
    for index in fields.indices where Self.equal(fields[index].name, length) {
      fields[index].value = String(bytes)
    }
  }

  /// Reads an object of names and values.
  /// - Parameter fault: what else is wrong with a field, by its name and value; nil: nothing.
  package init(
    validating value: JSONValue, at pointer: String, _ violations: Violations,
    fault: (String, JSONValue) -> String?
  ) {
    self.init()
    guard let members = value.members else {
      violations.add(pointer, "must be an object of strings, not \(value.kind)")
      return
    }
    if members.count > Limits.fields.value {
      violations.exceed(pointer, "must have at most \(Limits.fields.value) fields, not \(members.count)")
    }
    var size = 0
    for member in members {
      let fieldSize = member.name.utf8.count + (member.value.string?.utf8.count ?? 0)
      size += fieldSize
      let place = JSONPointer.appending(member.name, to: pointer)
      if fieldSize > Limits.fieldBytes.value {
        violations.exceed(
          place,
          "name and value together must have at most \(Limits.fieldBytes.value) bytes, not \(fieldSize)")
      }
      if !Self.isValid(name: member.name) {
        violations.add(place, "is not a header field name (RFC 9110)")
      } else if let fault = fault(member.name, member.value) {
        violations.add(place, fault)
      } else if let text = member.value.string, Self.isValid(value: text) {
        append(member.name, text)
      } else {
        violations.add(place, "must be a string without control characters")
      }
    }
    if size > Limits.headBytes.value {
      violations.exceed(
        pointer, "all fields together must have at most \(Limits.headBytes.value) bytes, not \(size)")
    }
  }
}

extension SessionConfiguration {
  /// Why certificates cannot be `tlsAdditionalRootCertificates`.
  package enum RootsFault: Error {
    /// The text is not certificates in PEM, and why.
    case unusable(String)
    /// Number of certificates with one subject, above `Limits.rootsOfOneSubject`. OpenSSL tries each as the issuer.
    case tooManyWithOneSubject(Int)
  }
}
