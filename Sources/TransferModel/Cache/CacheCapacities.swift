package import JSON

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

extension CacheCapacities: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("memoryCapacity", memoryCapacity)
      writer.field("diskCapacity", diskCapacity)
    }
  }
}
