package import JSON

/// Names of URLSession's that there is no honest way to take: each with why, or with what to use in its place. A client that sends
/// one is told so, rather than that nobody knows it.
package enum UnsupportedNames {
  /// URLSession's, where a session is created.
  package static let session: [String: String] = [
    "sessionDescription": "use description",
    "delegateQueue": "there is no queue to choose: the events of a session come in one order",
  ]

  /// URLSessionConfiguration's.
  package static let configuration: [String: String] = shared.merging([
    "identifier": "is a member of the session, beside the configuration",
    "httpCookieStorage":
      "a session has cookies of its own: see /v1/sessions/{id}/cookies and httpCookieAcceptPolicy",
    "connectionProxyDictionary": "use proxies",
    "proxyConfigurations": "use proxies: an HTTP CONNECT proxy is its https, a SOCKS one its socks5; "
      + "Oblivious HTTP and MASQUE relays are not spoken",
    "protocolClasses": "no code of a client's runs in the service",
    "sharedContainerIdentifier": "there are no app extensions here that would share a container",
    "multipathServiceType": "Multipath TCP is not spoken",
    "shouldUseExtendedBackgroundIdleMode":
      "tasks of background sessions need no process of the client's that stays awake",
    "usesClassicLoadingMode": "there is one way of loading",
    "tlsMinimumSupportedProtocol": "use tlsMinimumSupportedProtocolVersion",
    "tlsMaximumSupportedProtocol": "use tlsMaximumSupportedProtocolVersion",
    "enablesEarlyData": "TLS early data is not sent",
  ]) { $1 }

  /// URLRequest's.
  package static let request: [String: String] = shared.merging([
    "assumesHTTP3Capable": "HTTP/3 is not spoken",
    "attribution": "there is no privacy report that it would go to",
    "cachePartitionIdentifier": "the cache is the session's own: use a session for each partition",
    "cookiePartitionIdentifier": "cookies are the session's own: use a session for each partition",
    "httpMethod": "use method",
    "allHTTPHeaderFields": "use headers",
    "httpBody": "use body, with text, base64 or file",
    "httpBodyStream": "use body, with stream",
    "httpShouldUsePipelining": "is a property of the session's configuration",
  ]) { $1 }

  /// URLSessionTask's, where a task is created or changed.
  package static let task: [String: String] = [
    "taskDescription": "use description",
    "taskIdentifier": "is given by the service",
    "originalRequest": "use request",
    "currentRequest": "is told by the service; it begins as request",
    "response": "is told by the service",
    "error": "is told by the service",
    "progress": "is told by the service",
    "state": "use resume, or POST to the task's resume, suspend and cancel",
    "countOfBytesSent": "is counted by the service",
    "countOfBytesReceived": "is counted by the service",
    "countOfBytesExpectedToSend": "is told by the service; a guess goes into countOfBytesClientExpectsToSend",
    "countOfBytesExpectedToReceive":
      "is told by the service; a guess goes into countOfBytesClientExpectsToReceive",
    "maximumMessageSize": "there are no WebSocket tasks",
    "closeCode": "there are no WebSocket tasks",
    "closeReason": "there are no WebSocket tasks",
  ]

  /// What of a task is not changed once it is there.
  package static let change: [String: String] = task.merging(
    ["kind", "request", "resumeData", "completion", "delegate", "prefersIncrementalDelivery"].map {
      ($0, "is set when the task is created")
    } + [("resume", "POST to the task's resume")]
  ) { $1 }

  /// Properties of both URLSessionConfiguration and URLRequest.
  private static let shared = [
    "allowsUltraConstrainedNetworkAccess":
      "the operator classes no interface as ultra-constrained: use allowsConstrainedNetworkAccess",
    "allowsPersistentDNS": "names are looked up by the system, and not kept on a disk",
  ]

  static let noDNSSEC =
    "must be false: libcurl does not validate DNSSEC, and what the system's resolver says of it cannot be trusted"
}

extension ObjectReader {
  /// Reads `requiresDNSSECValidation` of a configuration or a request, which can only say what is so anyway.
  package mutating func readDNSSEC() {
    if bool("requiresDNSSECValidation") == true {
      reject("requiresDNSSECValidation", UnsupportedNames.noDNSSEC)
    }
  }
}
