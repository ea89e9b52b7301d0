package import JSON

/// The capacities of a session's cache (URLCache).
package struct CacheCapacities: Sendable, Equatable {
  /// Bytes.
  package var memoryCapacity = 4 * 1024 * 1024
  /// Bytes; 0 if nothing may be written to disk.
  package var diskCapacity = 20 * 1024 * 1024

  package init() {}
  package init(memoryCapacity: Int, diskCapacity: Int) {
    self.memoryCapacity = memoryCapacity
    self.diskCapacity = diskCapacity
  }

  /// The capacities of a session without a cache (URLSessionConfiguration.urlCache is nil).
  package static let none = CacheCapacities(memoryCapacity: 0, diskCapacity: 0)
}

extension CacheCapacities: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("memoryCapacity", memoryCapacity)
      writer.field("diskCapacity", diskCapacity)
    }
  }
}
