internal import Synchronization

/// The configuration of sessions. `URLSessionConfiguration` in Apple's URLSession.
///
/// The properties are those of `Values`. A session copies them when it is created, so a later change does not reach it.
@dynamicMemberLookup
public final class FerrySessionConfiguration: Sendable {
  private let values: Mutex<Values>

  /// Creates a configuration with these properties.
  public init(_ values: Values) { self.values = Mutex(values) }

  /// The configuration of a session whose cookies, cache and permanent credentials are stored on the service's disk.
  public static var `default`: FerrySessionConfiguration { FerrySessionConfiguration(Values()) }

  /// The configuration of a session that stays in the service's memory. Only files at destinations are written to disk.
  public static var ephemeral: FerrySessionConfiguration {
    var values = Values(kind: .ephemeral)
    values.urlCache = FerryCache(memoryCapacity: 4 << 20, diskCapacity: 0)
    return FerrySessionConfiguration(values)
  }

  /// The configuration of a session whose tasks continue without this program. A later session with the same identifier receives their events.
  public static func background(withIdentifier identifier: String) -> FerrySessionConfiguration {
    var values = Values(kind: .background(identifier))
    values.urlCache = nil
    return FerrySessionConfiguration(values)
  }

  /// All properties.
  public var all: Values { values.withLock { $0 } }

  /// One property.
  public subscript<Property: Sendable>(dynamicMember path: WritableKeyPath<Values, Property>) -> Property {
    get { all[keyPath: path] }
    set { values.withLock { $0[keyPath: path] = newValue } }
  }

  /// The identifier of a background session.
  public var identifier: String? { all.identifier }

  /// Returns a configuration with the same properties, which can change independently.
  public func copy() -> FerrySessionConfiguration { FerrySessionConfiguration(all) }
}

extension FerrySessionConfiguration {
  /// The properties of a configuration.
  public struct Values: Sendable {
    enum Kind: Sendable, Equatable {
      case `default`, ephemeral
      case background(String)
    }
    let kind: Kind

    /// The service that runs the tasks. Ferry's own addition.
    public var server = FerryServer.environment
    /// The use of the cache for requests without a policy of their own.
    public var requestCachePolicy = FerryRequest.CachePolicy.useProtocolCachePolicy
    /// Seconds without any progress after which a task ends with `FerryError.timedOut`.
    public var timeoutIntervalForRequest = 60.0
    /// The maximum duration of a task in seconds. A task that takes longer ends with `FerryError.timedOut`.
    public var timeoutIntervalForResource = 604_800.0
    /// The class of the traffic of requests without a class of their own.
    public var networkServiceType = FerryRequest.NetworkServiceType.default
    /// Whether tasks may use interfaces that the operator classifies as cellular.
    public var allowsCellularAccess = true
    /// Whether tasks may use interfaces that the operator classifies as expensive.
    public var allowsExpensiveNetworkAccess = true
    /// Whether tasks may use interfaces that the operator classifies as constrained.
    public var allowsConstrainedNetworkAccess = true
    /// Whether a task without a usable network waits for one.
    public var waitsForConnectivity = false
    /// Whether the tasks of a background session wait for the hours and the load that the operator has set for such tasks.
    public var isDiscretionary = false
    /// Whether the service reports `session.handleEvents` when it has calls for a program that does not run.
    public var sessionSendsLaunchEvents = true
    /// The maximum number of the session's connections to one origin.
    public var httpMaximumConnectionsPerHost = 6
    /// Whether requests wait for a connection that they can share (HTTP/2).
    public var httpShouldUsePipelining = false
    /// Whether requests carry the session's cookies.
    public var httpShouldSetCookies = true
    /// The cookies that the session stores.
    public var httpCookieAcceptPolicy = CookieAcceptPolicy.onlyFromMainDocumentDomain
    /// Header fields of all requests. The fields of a request override them.
    public var httpAdditionalHeaders: [String: String]?
    /// The oldest version of TLS.
    public var tlsMinimumSupportedProtocolVersion = TLSVersion.TLSv12
    /// The newest version of TLS.
    public var tlsMaximumSupportedProtocolVersion = TLSVersion.TLSv13
    /// The session's cache; `nil` for none.
    public var urlCache: FerryCache? = FerryCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20)
    /// The session's storage of credentials; `nil` for none.
    public var urlCredentialStorage: FerryStorage? = .session
    /// The session's storage of cookies. With `nil`, the session neither stores nor sends cookies. `FerrySession.httpCookieStorage`
    /// has the cookies.
    public var httpCookieStorage: FerryStorage? = .session
    /// Proxies by kind (`http`, `https`, `socks5`), as URLs. It replaces `connectionProxyDictionary`.
    public var proxies: [String: String]?
    /// The retries of tasks; `nil` for the service's default. Ferry's own addition.
    public var retry: FerryRetry?
    /// The maximum rate of all tasks together, in bytes a second. Ferry's own addition.
    public var maximumBytesPerSecond: Int64?
    /// Seconds for which the service keeps the body of a task that has ended. Ferry's own addition.
    public var bodyRetention = 86_400.0
    /// Whether the session follows redirects from https to http. Ferry's own addition.
    public var allowsInsecureRedirects = false
    /// Public keys that a host's certificates must contain, by host: `sha256/` and the Base64 of the SHA-256 digest of a
    /// SubjectPublicKeyInfo. `NSPinnedDomains` of App Transport Security. Ferry's own addition.
    public var tlsPinnedPublicKeys: [String: [String]] = [:]
    /// PEM text of further certificate authorities. Ferry's own addition.
    public var tlsAdditionalRootCertificates: String?
    /// Names of further header fields whose values are secret. Ferry's own addition.
    public var secretHeaderFields: [String] = []
    /// Seconds after which a decision of the delegate expires, and its default applies. Ferry's own addition.
    public var decisionTimeout = 600.0

    init(kind: Kind = .default) { self.kind = kind }

    /// The identifier of a background session.
    public var identifier: String? { if case .background(let name) = kind { name } else { nil } }
  }

  /// The cookies that a session stores. `HTTPCookie.AcceptPolicy`.
  public enum CookieAcceptPolicy: String, Sendable, CaseIterable {
    case always, never, onlyFromMainDocumentDomain
  }

  /// A version of TLS.
  public typealias TLSVersion = FerryTLSVersion
}

/// The place of cookies or credentials. It stands for the storage objects of Apple's URLSession.
public enum FerryStorage: Sendable, Hashable {
  /// The session's own storage in the service.
  case session
}

/// The capacities of a session's cache. `URLCache` in Apple's URLSession. The service selects the place.
public struct FerryCache: Sendable, Hashable {
  /// The capacity in memory, in bytes.
  public var memoryCapacity: Int
  /// The capacity on the service's disk, in bytes.
  public var diskCapacity: Int

  /// Creates the capacities of a cache, in bytes.
  public init(memoryCapacity: Int, diskCapacity: Int) {
    self.memoryCapacity = memoryCapacity
    self.diskCapacity = diskCapacity
  }
}

/// The retries of a task. Ferry's own addition.
public struct FerryRetry: Sendable, Hashable {
  /// The maximum number of attempts; `nil` for no limit except `timeoutIntervalForResource`.
  public var maximumAttempts: Int?
  /// The pause before the second attempt, in seconds. Later pauses are longer.
  public var backoff: Double
  /// The statuses that Ferry retries; `nil` for 429 and 503.
  public var statuses: [Int]?

  /// Creates the rules of retries.
  public init(maximumAttempts: Int? = nil, backoff: Double = 1, statuses: [Int]? = nil) {
    self.maximumAttempts = maximumAttempts
    self.backoff = backoff
    self.statuses = statuses
  }
}
