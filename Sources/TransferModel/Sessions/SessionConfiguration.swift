package import HTTPFields
package import JSON

/// URLSessionConfiguration. It is fixed when the session is created.
package struct SessionConfiguration: Sendable, Equatable {
  package var requestCachePolicy = CachePolicy.useProtocolCachePolicy
  /// Seconds without any transferred byte.
  package var timeoutIntervalForRequest = 60.0
  /// Seconds from the start to the end, wall clock.
  package var timeoutIntervalForResource = 604_800.0
  /// The limit of HTTP/1.1 connections to one origin, and of concurrent requests.
  package var httpMaximumConnectionsPerHost = 6
  /// Whether requests to one origin share an HTTP/2 connection.
  package var httpShouldUsePipelining = false
  /// Whether requests carry the session's cookies.
  package var httpShouldSetCookies = true
  package var httpCookieAcceptPolicy = CookieAcceptPolicy.onlyFromMainDocumentDomain
  package var httpAdditionalHeaders = HTTPHeaders()
  /// Names of additional secret header fields. Clients never see their values.
  package var secretHeaderFields: [String] = []
  package var tlsMinimumSupportedProtocolVersion = TLSVersion.v12
  package var tlsMaximumSupportedProtocolVersion = TLSVersion.v13
  /// Certificate authorities that are trusted in addition to the service's own. PEM.
  package var tlsAdditionalRootCertificates: String?
  /// The pinned keys of hosts. A chain must contain one key of its host.
  package var tlsPinnedPublicKeys: [PinnedHost] = []
  package var proxies = ProxyConfiguration()
  package var urlCache = CacheCapacities()
  /// Whether credentials are stored (URLSessionConfiguration.urlCredentialStorage is not nil).
  package var urlCredentialStorage = true
  /// Whether a task without a network waits for one instead of failing.
  package var waitsForConnectivity = false
  package var networkAccess = NetworkAccess()
  /// Whether a redirect from https to http needs no decision (NSAllowsArbitraryLoads of App Transport Security). If it is not allowed, the
  /// task ends with appTransportSecurityRequiresSecureConnection.
  package var allowsInsecureRedirects = false
  /// The purpose of the traffic of requests that do not specify one.
  package var networkServiceType = NetworkServiceType.default
  /// Whether the tasks of a background session yield to others.
  package var isDiscretionary = false
  /// Whether a background session sends `session.handleEvents`.
  package var sessionSendsLaunchEvents = true
  /// The retries of its tasks. With `nil`, background sessions have the default rules, and other sessions have no retries.
  package var retry: RetryConfiguration?
  /// Bytes per second of all its tasks together; `nil` for no limit.
  package var maximumBytesPerSecond: Int?
  /// Seconds for which a finished task's body is kept.
  package var bodyRetention = 86_400.0

  package init() {}
}

extension SessionConfiguration: JSONEncodable {
  /// Writes the properties as clients see them, without secrets.
  package func encode(into writer: inout JSONWriter) {
    writer.object { encodeMembers(into: &$0) }
  }

  private func encodeMembers(into writer: inout JSONWriter) {
    writer.field("requestCachePolicy", requestCachePolicy.rawValue)
    writer.field("timeoutIntervalForRequest", timeoutIntervalForRequest)
    writer.field("timeoutIntervalForResource", timeoutIntervalForResource)
    writer.field("httpMaximumConnectionsPerHost", httpMaximumConnectionsPerHost)
    writer.field("httpShouldUsePipelining", httpShouldUsePipelining)
    writer.field("httpShouldSetCookies", httpShouldSetCookies)
    writer.field("httpCookieAcceptPolicy", httpCookieAcceptPolicy.rawValue)
    writer.field(
      "httpAdditionalHeaders", Optional(httpAdditionalHeaders.redacted(and: secretHeaderFields)))
    writer.arrayField("secretHeaderFields", secretHeaderFields) { $0.value($1) }
    encodeTrust(into: &writer)
    writer.field("proxies", proxies)
    writer.field("urlCache", urlCache == .none ? nil : urlCache)
    writer.field("urlCredentialStorage", urlCredentialStorage)
    writer.field("waitsForConnectivity", waitsForConnectivity)
    networkAccess.encodeMembers(into: &writer)
    writer.field("allowsInsecureRedirects", allowsInsecureRedirects)
    writer.field("networkServiceType", networkServiceType.rawValue)
    writer.field("requiresDNSSECValidation", false)
    writer.field("isDiscretionary", isDiscretionary)
    writer.field("sessionSendsLaunchEvents", sessionSendsLaunchEvents)
    writer.field("retry", retry)
    writer.field("maximumBytesPerSecond", maximumBytesPerSecond)
    writer.field("bodyRetention", bodyRetention)
  }

  private func encodeTrust(into writer: inout JSONWriter) {
    writer.field("tlsMinimumSupportedProtocolVersion", tlsMinimumSupportedProtocolVersion.rawValue)
    writer.field("tlsMaximumSupportedProtocolVersion", tlsMaximumSupportedProtocolVersion.rawValue)
    writer.field("tlsAdditionalRootCertificates", tlsAdditionalRootCertificates)
    writer.objectField("tlsPinnedPublicKeys") { writer in
      for host in tlsPinnedPublicKeys { host.encodeMember(into: &writer) }
    }
  }
}
