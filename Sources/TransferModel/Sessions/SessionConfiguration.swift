package import HTTPFields
package import JSON

/// URLSessionConfiguration: fixed when the session is created.
package struct SessionConfiguration: Sendable, Equatable {
  package var requestCachePolicy = CachePolicy.useProtocolCachePolicy
  /// Seconds without a byte moved.
  package var timeoutIntervalForRequest = 60.0
  /// Seconds from the start to the end, wall clock.
  package var timeoutIntervalForResource = 604_800.0
  /// HTTP/1.1 connections to one origin, and requests at once.
  package var httpMaximumConnectionsPerHost = 6
  /// Requests to one origin share an HTTP/2 connection.
  package var httpShouldUsePipelining = false
  /// Whether requests carry the session's cookies.
  package var httpShouldSetCookies = true
  package var httpCookieAcceptPolicy = CookieAcceptPolicy.onlyFromMainDocumentDomain
  package var httpAdditionalHeaders = HTTPHeaders()
  /// Names of fields whose values are never shown, besides those that are known as secret.
  package var secretHeaderFields: [String] = []
  package var tlsMinimumSupportedProtocolVersion = TLSVersion.v12
  package var tlsMaximumSupportedProtocolVersion = TLSVersion.v13
  /// Authorities that are trusted beside the service's own; PEM.
  package var tlsAdditionalRootCertificates: String?
  /// For hosts, the keys one of which a chain must have.
  package var tlsPinnedPublicKeys: [PinnedHost] = []
  package var proxies = ProxyConfiguration()
  package var urlCache = CacheCapacities()
  /// Whether credentials are remembered (URLSessionConfiguration.urlCredentialStorage is not nil).
  package var urlCredentialStorage = true
  /// Whether a task waits for a network rather than fail without one.
  package var waitsForConnectivity = false
  package var networkAccess = NetworkAccess()
  /// Whether a redirect may lead from https to http unasked (as NSAllowsArbitraryLoads of App Transport Security has it). Where it
  /// may not, the task ends with appTransportSecurityRequiresSecureConnection.
  package var allowsInsecureRedirects = false
  /// What its tasks' traffic is for, where their requests do not say.
  package var networkServiceType = NetworkServiceType.default
  /// Background sessions: their tasks yield to others.
  package var isDiscretionary = false
  /// Background sessions: `session.handleEvents` is sent.
  package var sessionSendsLaunchEvents = true
  /// Background sessions: how often they try again; nil: as they do by themselves.
  package var retry: RetryConfiguration?
  /// Bytes per second of all its tasks together; nil: unlimited.
  package var maximumBytesPerSecond: Int?
  /// Seconds for which a finished task's body is kept.
  package var bodyRetention = 86_400.0

  package init() {}
}

extension SessionConfiguration: JSONEncodable {
  /// The properties as clients see them, without secrets.
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
