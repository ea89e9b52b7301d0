internal import HTTPFields
package import JSON
internal import Limits

extension SessionConfiguration {
  /// Reads the properties of the API.
  /// - Parameter base: supplies the properties that are absent.
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
        reader.reject(
          "secretHeaderFields", element: index,
          "must be a header field name of letters, digits and hyphens (RFC 9110), without a value")
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
        "tlsMinimumSupportedProtocolVersion",
        "must not be above tlsMaximumSupportedProtocolVersion (\(tlsMaximumSupportedProtocolVersion.rawValue))"
      )
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
    // Apple's rule: a session whose urlCache is nil caches nothing.
    if reader.isNull("urlCache") { urlCache = .none }
    guard var fields = reader.object("urlCache") else { return }
    let limit = 0...(1 << 44)
    urlCache.memoryCapacity = fields.integer("memoryCapacity", in: limit) ?? urlCache.memoryCapacity
    urlCache.diskCapacity = fields.integer("diskCapacity", in: limit) ?? urlCache.diskCapacity
    fields.finish()
  }
}

extension SessionConfiguration {
  /// The reason why certificates cannot be `tlsAdditionalRootCertificates`.
  package enum CertificateAuthorityError: Error {
    /// The text does not consist of certificates in PEM, for the given reason.
    case unusable(String)
    /// The number of certificates with one subject exceeds `Limits.rootsOfOneSubject`. OpenSSL tries each as the issuer.
    case tooManyWithOneSubject(Int)
  }
}
