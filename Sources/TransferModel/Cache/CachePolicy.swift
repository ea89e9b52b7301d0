/// What a request does with what the session's cache holds (URLRequest.CachePolicy).
package enum CachePolicy: String, Sendable, CaseIterable {
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

/// Where a response may be kept (URLCache.StoragePolicy).
package enum CacheStoragePolicy: String, Sendable, CaseIterable {
  case allowed, allowedInMemoryOnly, notAllowed
}
