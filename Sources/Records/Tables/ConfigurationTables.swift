internal import HTTPFields
internal import JSON
package import TransferModel

extension SessionConfiguration: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("requestCachePolicy", &requestCachePolicy)
    try coder.field("timeoutIntervalForRequest", &timeoutIntervalForRequest)
    try coder.field("timeoutIntervalForResource", &timeoutIntervalForResource)
    try coder.field("httpMaximumConnectionsPerHost", &httpMaximumConnectionsPerHost)
    try coder.field("httpShouldUsePipelining", &httpShouldUsePipelining)
    try coder.field("httpShouldSetCookies", &httpShouldSetCookies)
    try coder.field("httpCookieAcceptPolicy", &httpCookieAcceptPolicy)
    try coder.field("httpAdditionalHeaders", &httpAdditionalHeaders, else: HTTPHeaders())
    try coder.field("secretHeaderFields", &secretHeaderFields, else: [])
    try coder.field("tlsMinimumSupportedProtocolVersion", &tlsMinimumSupportedProtocolVersion)
    try coder.field("tlsMaximumSupportedProtocolVersion", &tlsMaximumSupportedProtocolVersion)
    try coder.field("tlsAdditionalRootCertificates", &tlsAdditionalRootCertificates)
    try coder.field("tlsPinnedPublicKeys", &tlsPinnedPublicKeys, else: [])
    try coder.field("proxies", &proxies, else: ProxyConfiguration())
    try coder.field("urlCache", &urlCache)
    try coder.field("urlCredentialStorage", &urlCredentialStorage)
    try coder.field("waitsForConnectivity", &waitsForConnectivity)
    try networkAccess.members(&coder)
    try coder.field("allowsInsecureRedirects", &allowsInsecureRedirects)
    try coder.field("networkServiceType", &networkServiceType, else: .default)
    try coder.field("isDiscretionary", &isDiscretionary)
    try coder.field("sessionSendsLaunchEvents", &sessionSendsLaunchEvents)
    try coder.field("retry", &retry)
    try coder.field("maximumBytesPerSecond", &maximumBytesPerSecond)
    try coder.field("bodyRetention", &bodyRetention)
  }
}

extension CacheCapacities: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("memoryCapacity", &memoryCapacity)
    try coder.field("diskCapacity", &diskCapacity)
  }
}

extension RetryConfiguration: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("maximumAttempts", &maximumAttempts)
    try coder.field("backoff", &backoff)
    try coder.field("statuses", &statuses)
  }
}

extension ProxyConfiguration: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    http = try Self.entry("http", .http, http, &coder)
    https = try Self.entry("https", .http, https, &coder)
    socks5 = try Self.entry("socks5", .socks5, socks5, &coder)
    let texts = try coder.member("noProxy", noProxy.all.map(\.text), else: [])
    guard coder.isReading else { return }
    let exceptions = texts.compactMap { ProxyException($0) }
    guard exceptions.count == texts.count else { throw coder.fault("noProxy", "has an invalid entry") }
    noProxy = ProxyExceptions(exceptions)
  }

  private static func entry(
    _ name: StaticString, _ kind: ProxyServer.Kind, _ value: Entry?, _ coder: inout RecordCoder
  ) throws(RecordFault) -> Entry? {
    guard let text = try coder.optional(name, value?.urlWithUser), coder.isReading else { return value }
    guard let entry = Entry(text, kind), entry.server.kind == kind else {
      throw coder.fault(name, "is not the URL of a proxy")
    }
    return entry
  }
}

extension PinnedHost: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    let host = PinnedHost(
      pattern: try coder.required("host", value?.pattern),
      keys: try coder.required("keys", value?.keys.map { RecordBytes(bytes: $0) }).map(\.bytes))
    // An entry without keys would pin nothing.
    guard coder.isReading else { return host }
    guard !host.keys.isEmpty, host.keys.allSatisfy({ $0.count == 32 }) else {
      throw coder.fault("keys", "must be one or more SHA-256 digests")
    }
    return host
  }
}
