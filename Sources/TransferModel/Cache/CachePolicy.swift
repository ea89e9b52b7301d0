/// The use of the session's cache by a request (URLRequest.CachePolicy).
package enum CachePolicy: String, Sendable, CaseIterable {
  /// The rules of HTTP (RFC 9111).
  case useProtocolCachePolicy
  case reloadIgnoringLocalCacheData
  /// Also requires intermediate caches to validate.
  case reloadIgnoringLocalAndRemoteCacheData
  /// Uses a stored response of any age; otherwise the origin.
  case returnCacheDataElseLoad
  /// Uses a stored response of any age; otherwise the task fails.
  case returnCacheDataDontLoad
  /// Uses a stored response after the origin has validated it.
  case reloadRevalidatingCacheData
}

/// The places that may store a response (URLCache.StoragePolicy).
package enum CacheStoragePolicy: String, Sendable, CaseIterable {
  case allowed, allowedInMemoryOnly, notAllowed
}
