/// The body of a stored response, as given to a cache or returned by it.
package enum CacheBody: Sendable, Equatable {
  case bytes([UInt8])
  /// The path of a complete, synced file that never changes.
  case file(String)
}

/// The body of a stored response. Its file exists as long as the lease, even if the response is deleted.
package final class CacheLease: Sendable {
  package let body: CacheBody
  package let size: Int64
  private let release: (@Sendable () -> Void)?

  init(_ body: CacheBody, size: Int64, release: (@Sendable () -> Void)? = nil) {
    self.body = body
    self.size = size
    self.release = release
  }

  deinit { release?() }
}

/// The size, the capacity and the number of entries of a cache.
package struct CacheUsage: Sendable, Equatable {
  package struct Entry: Sendable, Equatable {
    package let response: CachedResponse
    package let isInMemory: Bool
    package let isOnDisk: Bool
  }
  package var memoryUsed: Int64 = 0
  package var memoryCapacity: Int64 = 0
  package var diskUsed: Int64 = 0
  package var diskCapacity: Int64 = 0
  package var count = 0

  /// The usage of a session without a cache.
  package static let none = CacheUsage()
}
