/// A body that is given to a cache, or that a cache gives.
package enum CacheBody: Sendable, Equatable {
  case bytes([UInt8])
  /// A file that is complete, synced and never changed.
  case file(String)
}

/// The body of a stored response: as long as this lives, its file stays, whatever becomes of the response.
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

/// What a cache holds.
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

  /// Of a session that has no cache.
  package static let none = CacheUsage()
}
