internal import HTTPFields
internal import JSON
package import TransferModel

extension SessionConfiguration {
  /// A property that is missing has its default.
  package init(stored: inout StoredObject) throws(StoredObject.Fault) {
    self.init()
    requestCachePolicy = try stored.choiceIfAny("requestCachePolicy") ?? requestCachePolicy
    timeoutIntervalForRequest =
      try stored.numberIfAny("timeoutIntervalForRequest") ?? timeoutIntervalForRequest
    timeoutIntervalForResource =
      try stored.numberIfAny("timeoutIntervalForResource") ?? timeoutIntervalForResource
    httpMaximumConnectionsPerHost =
      try stored.countIfAny("httpMaximumConnectionsPerHost") ?? httpMaximumConnectionsPerHost
    httpShouldUsePipelining = try stored.boolIfAny("httpShouldUsePipelining") ?? httpShouldUsePipelining
    httpShouldSetCookies = try stored.boolIfAny("httpShouldSetCookies") ?? httpShouldSetCookies
    httpCookieAcceptPolicy = try stored.choiceIfAny("httpCookieAcceptPolicy") ?? httpCookieAcceptPolicy
    httpAdditionalHeaders = try HTTPHeaders("httpAdditionalHeaders", of: &stored)
    secretHeaderFields = try stored.stringsIfAny("secretHeaderFields") ?? []
    tlsMinimumSupportedProtocolVersion =
      try stored.choiceIfAny("tlsMinimumSupportedProtocolVersion") ?? tlsMinimumSupportedProtocolVersion
    tlsMaximumSupportedProtocolVersion =
      try stored.choiceIfAny("tlsMaximumSupportedProtocolVersion") ?? tlsMaximumSupportedProtocolVersion
    tlsAdditionalRootCertificates = try stored.stringIfAny("tlsAdditionalRootCertificates")
    tlsPinnedPublicKeys = try Self.pins(&stored)
    if var fields = try stored.objectIfAny("proxies") { proxies = try ProxyConfiguration(stored: &fields) }
    try readCache(&stored)
    urlCredentialStorage = try stored.boolIfAny("urlCredentialStorage") ?? urlCredentialStorage
    waitsForConnectivity = try stored.boolIfAny("waitsForConnectivity") ?? waitsForConnectivity
    networkAccess = try NetworkAccess(stored: &stored)
    allowsInsecureRedirects = try stored.boolIfAny("allowsInsecureRedirects") ?? false
    networkServiceType = try stored.choiceIfAny("networkServiceType") ?? networkServiceType
    isDiscretionary = try stored.boolIfAny("isDiscretionary") ?? isDiscretionary
    sessionSendsLaunchEvents = try stored.boolIfAny("sessionSendsLaunchEvents") ?? sessionSendsLaunchEvents
    if var fields = try stored.objectIfAny("retry") {
      var found = RetryConfiguration()
      found.maximumAttempts = try fields.countIfAny("maximumAttempts")
      found.backoff = try fields.numberIfAny("backoff") ?? found.backoff
      retry = found
      try fields.finish()
    }
    maximumBytesPerSecond = try stored.countIfAny("maximumBytesPerSecond")
    bodyRetention = try stored.numberIfAny("bodyRetention") ?? bodyRetention
  }

  private mutating func readCache(_ stored: inout StoredObject) throws(StoredObject.Fault) {
    if stored.isNull("urlCache") { urlCache = .none }
    guard var fields = try stored.objectIfAny("urlCache") else { return }
    urlCache.memoryCapacity = try fields.countIfAny("memoryCapacity") ?? urlCache.memoryCapacity
    urlCache.diskCapacity = try fields.countIfAny("diskCapacity") ?? urlCache.diskCapacity
    try fields.finish()
  }

  private static func pins(_ stored: inout StoredObject) throws(StoredObject.Fault) -> [PinnedHost] {
    guard var hosts = try stored.objectIfAny("tlsPinnedPublicKeys") else { return [] }
    var pins: [PinnedHost] = []
    for host in hosts.names {
      var keys: [[UInt8]] = []
      for text in try hosts.stringsIfAny(host) ?? [] {
        guard let key = PinnedHost.key(of: text) else { throw hosts.fault(host, "has a pin that is none") }
        keys.append(key)
      }
      // Without keys it would pin nothing.
      guard !keys.isEmpty else { throw hosts.fault(host, "has no pins") }
      pins.append(PinnedHost(pattern: host, keys: keys))
    }
    try hosts.finish()
    return pins
  }
}

extension ProxyConfiguration {
  init(stored: inout StoredObject) throws(StoredObject.Fault) {
    self.init()
    http = try Self.entry("http", .http, &stored)
    https = try Self.entry("https", .http, &stored)
    socks5 = try Self.entry("socks5", .socks5, &stored)
    let texts = try stored.stringsIfAny("noProxy") ?? []
    let exceptions = texts.compactMap { ProxyException($0) }
    guard exceptions.count == texts.count else { throw stored.fault("noProxy", "has an entry that is none") }
    noProxy = ProxyExceptions(exceptions)
    try stored.finish()
  }

  private static func entry(
    _ name: String, _ kind: ProxyServer.Kind, _ stored: inout StoredObject
  ) throws(StoredObject.Fault) -> Entry? {
    guard let text = try stored.stringIfAny(name) else { return nil }
    guard let entry = Entry(text, kind), entry.server.kind == kind else {
      throw stored.fault(name, "is not the URL of a proxy")
    }
    return entry
  }
}

extension NetworkAccess {
  /// The switches among a configuration's or a request's members.
  init(stored: inout StoredObject) throws(StoredObject.Fault) {
    self.init()
    allowsCellularAccess = try stored.boolIfAny("allowsCellularAccess") ?? true
    allowsExpensiveNetworkAccess = try stored.boolIfAny("allowsExpensiveNetworkAccess") ?? true
    allowsConstrainedNetworkAccess = try stored.boolIfAny("allowsConstrainedNetworkAccess") ?? true
  }
}

extension SessionDelegate {
  init(stored: inout StoredObject) throws(StoredObject.Fault) {
    self.init()
    sessionChallenges = try stored.choiceIfAny("sessionChallenges")
    taskChallenges = try stored.choiceIfAny("taskChallenges")
    asksForRedirects = try Self.asks("redirects", orElse: "follow", &stored)
    asksForResponses = try Self.asks("responses", orElse: "allow", &stored)
    asksForCaching = try Self.asks("caching", orElse: "default", &stored)
    asksForDelayedRequests = try Self.asks("delayedRequests", orElse: "continue", &stored)
    decisionTimeout = try stored.numberIfAny("decisionTimeout") ?? decisionTimeout
    if var hook = try stored.objectIfAny("webhook") {
      webhook = Webhook(url: try hook.string("url"), secret: try hook.stringIfAny("secret"))
      events = []
      for name in try hook.stringsIfAny("events") ?? [EventType.taskDidComplete.rawValue] {
        guard let type = EventType(rawValue: name) else {
          throw hook.fault("events", "has '\(name)', which is not known")
        }
        events.append(type)
      }
      webhookAnswers = try hook.boolIfAny("answers") ?? false
      try hook.finish()
    }
    try stored.finish()
  }

  private static func asks(
    _ name: String, orElse other: String, _ stored: inout StoredObject
  ) throws(StoredObject.Fault) -> Bool {
    switch try stored.stringIfAny(name) {
    case nil, other: return false
    case "ask": return true
    case let text?: throw stored.fault(name, "is '\(text)', which is not known")
    }
  }
}
