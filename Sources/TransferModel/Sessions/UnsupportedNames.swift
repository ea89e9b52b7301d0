package import JSON

/// URLSession's property names that Ferry cannot support, each with the reason or a replacement. The error for such a property explains
/// this instead of calling the name unknown.
package enum UnsupportedNames {
  /// Properties of URLSession, when a session is created.
  package static let session: [String: String] = [
    "sessionDescription": "use description",
    "delegateQueue": "a session has no queue to choose; its events have one order",
  ]

  /// Properties of URLSessionConfiguration.
  package static let configuration: [String: String] = shared.merging([
    "identifier": "is a member of the session, not of its configuration",
    "httpCookieStorage":
      "a session has its own cookies; use /v1/sessions/{id}/cookies and httpCookieAcceptPolicy",
    "connectionProxyDictionary": "use proxies",
    "proxyConfigurations": "use proxies, with https for an HTTP CONNECT proxy and socks5 for a SOCKS proxy; "
      + "Oblivious HTTP and MASQUE relays are not supported",
    "protocolClasses": "Ferry runs no code of its clients",
    "sharedContainerIdentifier": "Ferry has no app extensions that share a container",
    "multipathServiceType": "Multipath TCP is not supported",
    "shouldUseExtendedBackgroundIdleMode":
      "tasks of background sessions run without the client",
    "usesClassicLoadingMode": "Ferry has only one way of loading",
    "tlsMinimumSupportedProtocol": "use tlsMinimumSupportedProtocolVersion",
    "tlsMaximumSupportedProtocol": "use tlsMaximumSupportedProtocolVersion",
    "enablesEarlyData": "Ferry sends no TLS early data",
  ]) { $1 }

  /// Properties of URLRequest.
  package static let request: [String: String] = shared.merging([
    "assumesHTTP3Capable": "HTTP/3 is not supported",
    "attribution": "Ferry writes no privacy report",
    "cachePartitionIdentifier": "each session has its own cache; use one session per partition",
    "cookiePartitionIdentifier": "each session has its own cookies; use one session per partition",
    "httpMethod": "use method",
    "allHTTPHeaderFields": "use headers",
    "httpBody": "use body with text, base64 or file",
    "httpBodyStream": "use body with stream",
    "httpShouldUsePipelining": "is a property of the session's configuration",
  ]) { $1 }

  /// Properties of URLSessionTask, when a task is created or changed.
  package static let task: [String: String] = [
    "taskDescription": "use description",
    "taskIdentifier": "is assigned by Ferry; leave it out",
    "originalRequest": "use request",
    "currentRequest": "is reported by Ferry; use request",
    "response": "is reported by Ferry; leave it out",
    "error": "is reported by Ferry; leave it out",
    "progress": "is reported by Ferry; leave it out",
    "state": "use resume, or POST to /v1/tasks/{id}/resume, /suspend or /cancel",
    "countOfBytesSent": "is counted by Ferry; leave it out",
    "countOfBytesReceived": "is counted by Ferry; leave it out",
    "countOfBytesExpectedToSend": "is reported by Ferry; give an estimate as countOfBytesClientExpectsToSend",
    "countOfBytesExpectedToReceive":
      "is reported by Ferry; give an estimate as countOfBytesClientExpectsToReceive",
    "maximumMessageSize": "Ferry has no WebSocket tasks",
    "closeCode": "Ferry has no WebSocket tasks",
    "closeReason": "Ferry has no WebSocket tasks",
  ]

  /// Properties of a task that cannot change after its creation.
  package static let change: [String: String] = task.merging(
    [
      "kind", "resumeData", "completion", "delegate", "prefersIncrementalDelivery", "failOnStatus",
      "expected", "retry", "destination",
    ].map {
      ($0, "cannot be changed after the task is created")
    } + [("resume", "cannot be changed; POST to /v1/tasks/{id}/resume")]
  ) { $1 }

  /// Properties of both URLSessionConfiguration and URLRequest.
  private static let shared = [
    "allowsUltraConstrainedNetworkAccess":
      "no network is classed as ultra-constrained; use allowsConstrainedNetworkAccess",
    "allowsPersistentDNS": "the system looks up names, and Ferry does not store them on disk",
  ]

  static let noDNSSEC =
    "must be false; libcurl does not validate DNSSEC, and the system's resolver cannot be trusted to do so"
}

extension ObjectReader {
  /// Reads `requiresDNSSECValidation` of a configuration or a request, whose only valid value is `false`.
  package mutating func readDNSSEC() {
    if bool("requiresDNSSECValidation") == true {
      reject("requiresDNSSECValidation", UnsupportedNames.noDNSSEC)
    }
  }
}
