package import JSON

/// TLS versions an origin may be spoken to with (tls_protocol_version_t).
package enum TLSVersion: String, Sendable, CaseIterable {
  case v10 = "TLSv1.0"
  case v11 = "TLSv1.1"
  case v12 = "TLSv1.2"
  case v13 = "TLSv1.3"
}

/// URLSessionConfiguration: fixed when the session is created.
package struct SessionConfiguration: Sendable, Equatable {
  /// Seconds without a byte moved.
  package var timeoutIntervalForRequest = 60.0
  /// Seconds from the start to the end, wall clock.
  package var timeoutIntervalForResource = 604_800.0
  package var httpMaximumConnectionsPerHost = 6
  package var httpShouldUsePipelining = false
  package var httpAdditionalHeaders = HTTPHeaders()
  package var tlsMinimumSupportedProtocolVersion = TLSVersion.v12
  package var tlsMaximumSupportedProtocolVersion = TLSVersion.v13
  /// Authorities that are trusted beside the service's own; PEM.
  package var tlsAdditionalRootCertificates: String?
  /// For hosts, the keys one of which a chain must have.
  package var tlsPinnedPublicKeys: [PinnedHost] = []
  package var proxies = ProxyConfiguration()
  /// Whether credentials are remembered (URLSessionConfiguration.urlCredentialStorage is not nil).
  package var urlCredentialStorage = true
  /// Bytes per second of all its tasks together; nil: unlimited.
  package var maximumBytesPerSecond: Int?
  /// Seconds for which a finished task's body is kept.
  package var bodyRetention = 86_400.0

  package init() {}
}

extension SessionConfiguration: JSONEncodable {
  /// The properties that this version honours, without what only the store may see.
  package func encode(into writer: inout JSONWriter) { encode(into: &writer, sealing: nil) }

  /// - Parameter seal: makes of a secret what the store may keep; nil: for clients, who see none.
  package func encode(into writer: inout JSONWriter, sealing seal: ((String) -> String)?) {
    writer.object { writer in
      writer.field("timeoutIntervalForRequest", timeoutIntervalForRequest)
      writer.field("timeoutIntervalForResource", timeoutIntervalForResource)
      writer.field("httpMaximumConnectionsPerHost", httpMaximumConnectionsPerHost)
      writer.field("httpShouldUsePipelining", httpShouldUsePipelining)
      let headers = httpAdditionalHeaders.replacingSecrets(seal ?? { _ in HTTPHeaders.redaction })
      writer.field("httpAdditionalHeaders", Optional(headers))
      writer.field("tlsMinimumSupportedProtocolVersion", tlsMinimumSupportedProtocolVersion.rawValue)
      writer.field("tlsMaximumSupportedProtocolVersion", tlsMaximumSupportedProtocolVersion.rawValue)
      writer.field("tlsAdditionalRootCertificates", tlsAdditionalRootCertificates)
      writer.objectField("tlsPinnedPublicKeys") { writer in
        for host in tlsPinnedPublicKeys { host.encodeMember(into: &writer) }
      }
      writer.key("proxies")
      proxies.encode(into: &writer, sealing: seal)
      writer.field("urlCredentialStorage", urlCredentialStorage)
      writer.key("maximumBytesPerSecond")
      if let maximumBytesPerSecond { writer.value(maximumBytesPerSecond) } else { writer.null() }
      writer.field("bodyRetention", bodyRetention)
    }
  }
}
