internal import JSON

extension FerrySessionConfiguration.Values {
  /// Writes the members `type`, `identifier` and `configuration` of a session.
  func encode(into writer: inout JSONWriter) {
    switch kind {
    case .default: writer.field("type", "default")
    case .ephemeral: writer.field("type", "ephemeral")
    case .background(let identifier):
      writer.field("type", "background")
      writer.field("identifier", identifier)
    }
    writer.objectField("configuration") { encodeProperties(into: &$0) }
  }

  private func encodeProperties(into writer: inout JSONWriter) {
    writer.field("requestCachePolicy", requestCachePolicy.rawValue)
    writer.field("timeoutIntervalForRequest", FerryRequest.acceptable(timeoutIntervalForRequest))
    writer.field("timeoutIntervalForResource", FerryRequest.acceptable(timeoutIntervalForResource))
    writer.field("networkServiceType", networkServiceType.rawValue)
    writer.field("allowsCellularAccess", allowsCellularAccess)
    writer.field("allowsExpensiveNetworkAccess", allowsExpensiveNetworkAccess)
    writer.field("allowsConstrainedNetworkAccess", allowsConstrainedNetworkAccess)
    writer.field("waitsForConnectivity", waitsForConnectivity)
    writer.field("isDiscretionary", isDiscretionary)
    writer.field("sessionSendsLaunchEvents", sessionSendsLaunchEvents)
    writer.field("httpMaximumConnectionsPerHost", httpMaximumConnectionsPerHost)
    writer.field("httpShouldUsePipelining", httpShouldUsePipelining)
    writer.field("httpShouldSetCookies", httpShouldSetCookies && httpCookieStorage != nil)
    let policy = httpCookieStorage == nil ? .never : httpCookieAcceptPolicy
    writer.field("httpCookieAcceptPolicy", policy.rawValue)
    if let httpAdditionalHeaders { writer.field("httpAdditionalHeaders", strings: httpAdditionalHeaders) }
    writer.field("tlsMinimumSupportedProtocolVersion", tlsMinimumSupportedProtocolVersion.rawValue)
    writer.field("tlsMaximumSupportedProtocolVersion", tlsMaximumSupportedProtocolVersion.rawValue)
    if let urlCache {
      writer.objectField("urlCache") { writer in
        writer.field("memoryCapacity", urlCache.memoryCapacity)
        writer.field("diskCapacity", urlCache.diskCapacity)
      }
    } else {
      writer.nullField("urlCache")
    }
    writer.field("urlCredentialStorage", urlCredentialStorage != nil)
    if let proxies { writer.field("proxies", strings: proxies) }
    if let retry {
      writer.key("retry")
      retry.encode(into: &writer)
    }
    if let maximumBytesPerSecond { writer.field("maximumBytesPerSecond", maximumBytesPerSecond) }
    writer.field("bodyRetention", bodyRetention)
    writer.field("allowsInsecureRedirects", allowsInsecureRedirects)
    if !tlsPinnedPublicKeys.isEmpty {
      writer.objectField("tlsPinnedPublicKeys") { writer in
        for (host, keys) in tlsPinnedPublicKeys.sorted(by: { $0.key < $1.key }) {
          writer.key(host)
          writer.array { writer in for key in keys { writer.value(key) } }
        }
      }
    }
    if let tlsAdditionalRootCertificates {
      writer.field("tlsAdditionalRootCertificates", tlsAdditionalRootCertificates)
    }
    if !secretHeaderFields.isEmpty {
      writer.arrayField("secretHeaderFields", secretHeaderFields) { $0.value($1) }
    }
  }
}

extension FerryRetry {
  func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      if let maximumAttempts { writer.field("maximumAttempts", maximumAttempts) }
      writer.field("backoff", backoff)
      if let statuses { writer.arrayField("statuses", statuses) { $0.value(Int64($1)) } }
    }
  }
}
