/// What a request does with what the session's cache holds (URLRequest.CachePolicy).
package enum CachePolicy: String, Sendable, CaseIterable, Codable {
  /// As HTTP says (RFC 9111).
  case useProtocolCachePolicy
  case reloadIgnoringLocalCacheData
  /// Caches on the way are asked to validate, too.
  case reloadIgnoringLocalAndRemoteCacheData
  /// What is stored, whatever its age; else the origin.
  case returnCacheDataElseLoad
  /// What is stored, whatever its age; else the task fails.
  case returnCacheDataDontLoad
  /// What is stored, once the origin has confirmed it.
  case reloadRevalidatingCacheData
}

/// Which cookies a session takes (HTTPCookie.AcceptPolicy).
package enum CookieAcceptPolicy: String, Sendable, CaseIterable {
  case always, never
  /// From hosts of the main document's registrable domain; a request without one is its own.
  case onlyFromMainDocumentDomain
}

/// Where a response may be kept (URLCache.StoragePolicy).
package enum CacheStoragePolicy: String, Sendable, Codable, CaseIterable {
  case allowed, allowedInMemoryOnly, notAllowed
}

/// How much of what a session received its cache holds (URLCache).
package struct CacheCapacities: Sendable, Equatable {
  /// Bytes.
  package var memoryCapacity = 4 * 1024 * 1024
  /// Bytes; 0 where nothing may be written.
  package var diskCapacity = 20 * 1024 * 1024

  package init() {}
  package init(memoryCapacity: Int, diskCapacity: Int) {
    self.memoryCapacity = memoryCapacity
    self.diskCapacity = diskCapacity
  }

  /// No cache at all (URLSessionConfiguration.urlCache is nil).
  package static let none = CacheCapacities(memoryCapacity: 0, diskCapacity: 0)
}

/// How often a background session tries again.
package struct RetryConfiguration: Sendable, Equatable {
  /// Attempts in all; nil: as many as `timeoutIntervalForResource` leaves time for.
  package var maximumAttempts: Int?
  /// Seconds before the second attempt; each further one waits twice as long.
  package var backoff = 1.0

  package init() {}
}

/// Which kinds of network a task may use (URLRequest.allowsCellularAccess and its kin).
package struct NetworkAccess: Sendable, Equatable, Codable {
  package var allowsCellularAccess = true
  package var allowsExpensiveNetworkAccess = true
  package var allowsConstrainedNetworkAccess = true

  package init() {}

  /// What both allow.
  package func intersection(_ other: NetworkAccess) -> NetworkAccess {
    var both = self
    both.allowsCellularAccess = allowsCellularAccess && other.allowsCellularAccess
    both.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess && other.allowsExpensiveNetworkAccess
    both.allowsConstrainedNetworkAccess =
      allowsConstrainedNetworkAccess && other.allowsConstrainedNetworkAccess
    return both
  }
}
