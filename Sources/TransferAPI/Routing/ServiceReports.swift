/// The space of the file system that has the data directory, in bytes.
package struct DiskSpace: Sendable, Equatable {
  /// The space that Ferry may use.
  package let availableBytes: Int64
  package let totalBytes: Int64

  package init(availableBytes: Int64, totalBytes: Int64) {
    (self.availableBytes, self.totalBytes) = (availableBytes, totalBytes)
  }
}

/// Facts about the service that only the program knows.
package struct ServiceReports: Sendable {
  /// The settings and limits in JSON, for the tenant `default`.
  let settings: [UInt8]
  /// The limits in JSON, for other tenants, which may not see the operator's paths and networks.
  let limits: [UInt8]
  /// Reads the space of the data directory, or returns `nil` on failure.
  let diskSpace: @Sendable () async -> DiskSpace?

  package init(
    settings: [UInt8] = Array("{}".utf8), limits: [UInt8] = Array("{}".utf8),
    diskSpace: @escaping @Sendable () async -> DiskSpace? = { nil }
  ) {
    (self.settings, self.limits, self.diskSpace) = (settings, limits, diskSpace)
  }
}
