public import FoundationEssentials

/// A request of a task. `URLRequest` in Apple's URLSession.
public struct FerryRequest: Sendable, Hashable {
  /// The use of the session's cache. `URLRequest.CachePolicy`.
  public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
    case useProtocolCachePolicy, reloadIgnoringLocalCacheData, reloadIgnoringLocalAndRemoteCacheData
    case returnCacheDataElseLoad, returnCacheDataDontLoad, reloadRevalidatingCacheData
  }

  /// The class of the request's traffic. `URLRequest.NetworkServiceType`.
  public enum NetworkServiceType: String, Sendable, Hashable, CaseIterable {
    case `default`, video, background, voice, responsiveData, avStreaming, responsiveAV, callSignaling
  }

  /// The URL. A task without one ends with `FerryError.unsupportedURL`.
  public var url: URL?
  /// The method, `GET` by default.
  public var httpMethod: String? = "GET"
  /// The header fields. A value replaces that of `FerrySessionConfiguration.httpAdditionalHeaders`.
  public var allHTTPHeaderFields: [String: String]?
  /// The body, if the task has no other.
  public var httpBody: Data?
  /// The body as a stream, if the task has no other.
  public var httpBodyStream: FerryBodyStream?
  /// The body that the service has for a request of its own, such as that of a redirect with 307.
  struct ProposedBody: Sendable, Hashable {
    let size: Int64?
    let file: String?
    let isStream: Bool
  }
  /// The body of the service's request. It stays unless the program sets another.
  var proposedBody: ProposedBody?
  /// The use of the cache. `nil` stands for `FerrySessionConfiguration.requestCachePolicy`.
  public var requestCachePolicy: CachePolicy?
  /// Seconds without any progress after which the task ends with `FerryError.timedOut`. `nil` stands for the session's value.
  public var requestTimeoutInterval: Double?
  /// The URL of the document that the request belongs to, for the acceptance of cookies.
  public var mainDocumentURL: URL?
  /// Whether the request carries the session's cookies, and its responses set them.
  public var httpShouldHandleCookies = true
  /// Whether the request may use interfaces that the operator classifies as cellular.
  public var allowsCellularAccess = true
  /// Whether the request may use interfaces that the operator classifies as expensive.
  public var allowsExpensiveNetworkAccess = true
  /// Whether the request may use interfaces that the operator classifies as constrained.
  public var allowsConstrainedNetworkAccess = true
  /// The class of the request's traffic.
  public var networkServiceType = NetworkServiceType.default

  init() {}

  /// Creates a request. Without a policy or an interval, the task uses that of its session.
  public init(url: URL, cachePolicy: CachePolicy? = nil, timeoutInterval: Double? = nil) {
    self.url = url
    requestCachePolicy = cachePolicy
    requestTimeoutInterval = timeoutInterval
  }

  /// The use of the cache. Without a value, it is `useProtocolCachePolicy`, and the task uses the policy of its session.
  public var cachePolicy: CachePolicy {
    get { requestCachePolicy ?? .useProtocolCachePolicy }
    set { requestCachePolicy = newValue }
  }

  /// Seconds without any progress. Without a value, they are 60, and the task uses the interval of its session.
  public var timeoutInterval: Double {
    get { requestTimeoutInterval ?? 60 }
    set { requestTimeoutInterval = newValue }
  }

  /// Returns the value of a header field. The case of the name does not matter.
  public func value(forHTTPHeaderField field: String) -> String? {
    allHTTPHeaderFields?.field(field)?.value
  }

  /// Sets the value of a header field, or removes the field if the value is `nil`.
  public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
    let name = allHTTPHeaderFields?.field(field)?.key ?? field
    allHTTPHeaderFields = allHTTPHeaderFields ?? [:]
    allHTTPHeaderFields?[name] = value
  }

  /// Appends a value to a header field, after a comma.
  public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
    let old = self.value(forHTTPHeaderField: field)
    setValue(old.map { "\($0),\(value)" } ?? value, forHTTPHeaderField: field)
  }
}

extension [String: String] {
  /// Returns the header field of this name. The case of the name does not matter.
  func field(_ name: String) -> Element? {
    let name = name.lowercased()
    return first { $0.key.lowercased() == name }
  }
}

// Header fields and bodies may be secret.
extension FerryRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The URL.
  public var description: String { url?.absoluteString ?? "url: nil" }
  /// The URL.
  public var debugDescription: String { description }
  /// The URL and the method.
  public var customMirror: Mirror {
    Mirror(self, children: ["url": url as Any, "httpMethod": httpMethod as Any])
  }
}
