internal import HTTPCache
package import TransferModel

/// Sessions that have nothing to do, by how long that has been so: it says which of them close their connections, and drop the data that can
/// be read again.
package struct IdleSessions: Sendable {
  /// What idle sessions may keep on one worker.
  package struct Limits: Sendable, Equatable {
    /// How long one keeps its connections: as long as most origins keep theirs.
    package var lifetime = Duration.seconds(60)
    package var sessions = 256
    /// Descriptors of all of them together.
    package var descriptors = 2048
    /// Approximate bytes of large configurations, of the certificates parsed from them, and of stored cookies and credentials.
    package var bytes = 16 << 20

    package init() {}

    /// - Parameters:
    ///   - limit: descriptors that the process may have.
    ///   - workers: how many share them.
    package init(descriptorLimit limit: Int, workers: Int) {
      descriptors = min(descriptors, limit / (8 * max(1, workers)))
    }
  }

  private struct Entry {
    var since: ContinuousClock.Instant
    var isConnected: Bool
    /// Bytes of data that can be read again.
    var bytes: Int
  }

  private let limits: Limits
  private var order = RecencyList<SessionID>()
  private var entries: [SessionID: Entry] = [:]
  /// How many have connections.
  private var connected = 0
  private var bytes = 0

  package init(limits: Limits) { self.limits = limits }

  package func contains(_ id: SessionID) -> Bool { entries[id] != nil }

  /// The session has just become idle, with so many descriptors and so many bytes that can be read again.
  package mutating func insert(
    _ id: SessionID, descriptors: Int, bytes: Int = 0, at now: ContinuousClock.Instant
  ) {
    remove(id)
    order.insert(id, cost: Int64(descriptors))
    entries[id] = Entry(since: now, isConnected: descriptors > 0, bytes: bytes)
    connected += descriptors > 0 ? 1 : 0
    self.bytes += bytes
  }

  /// An idle session has so many bytes now. It has been idle since the same time.
  package mutating func update(_ id: SessionID, bytes: Int) {
    guard let entry = entries[id] else { return }
    self.bytes += bytes - entry.bytes
    entries[id]?.bytes = bytes
  }

  /// It has something to do, or is over.
  package mutating func remove(_ id: SessionID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    order.remove(id)
    connected -= entry.isConnected ? 1 : 0
    bytes -= entry.bytes
  }

  /// Whether some are to go before their time.
  package var areTooMany: Bool {
    connected > limits.sessions || order.cost > Int64(limits.descriptors) || bytes > limits.bytes
  }

  /// When the next has been idle for too long; nil where none is.
  package var nextDeadline: ContinuousClock.Instant? {
    order.oldest.flatMap { entries[$0] }.map { $0.since + limits.lifetime }
  }

  /// Those that are to close their connections now, the longest idle first.
  package mutating func takeOverdue(at now: ContinuousClock.Instant) -> [SessionID] {
    var overdue: [SessionID] = []
    while let oldest = order.oldest, let begin = entries[oldest]?.since {
      guard begin + limits.lifetime <= now || areTooMany else { break }
      overdue.append(oldest)
      remove(oldest)
    }
    return overdue
  }

  package mutating func takeAll() -> [SessionID] {
    defer { self = IdleSessions(limits: limits) }
    return Array(order.keys.reversed())
  }
}
