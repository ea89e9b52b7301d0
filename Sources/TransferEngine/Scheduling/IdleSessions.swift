internal import HTTPCache
package import TransferModel

/// The idle sessions, in order of their idle time. Selects those that must close their connections and drop data that can be read again.
package struct IdleSessions: Sendable {
  /// The limits of idle sessions on one transfer loop.
  package struct Limits: Sendable, Equatable {
    /// The time for which an idle session keeps its connections, similar to that of most origins.
    package var lifetime = Duration.seconds(60)
    package var sessions = 256
    /// The descriptors of all idle sessions together.
    package var descriptors = 2048
    /// The approximate bytes of large configurations, of the certificates parsed from them, and of stored cookies and credentials.
    package var bytes = 16 << 20

    package init() {}

    /// - Parameters:
    ///   - limit: The descriptor limit of the process.
    ///   - workers: The number of transfer loops that share it.
    package init(descriptorLimit limit: Int, workers: Int) {
      descriptors = min(descriptors, limit / (8 * max(1, workers)))
    }
  }

  private struct Entry {
    var since: ContinuousClock.Instant
    var isConnected: Bool
    /// The bytes of data that can be read again.
    var bytes: Int
  }

  private let limits: Limits
  private var order = RecencyList<SessionID>()
  private var entries: [SessionID: Entry] = [:]
  /// The number of sessions with connections.
  private var connected = 0
  private var bytes = 0

  package init(limits: Limits) { self.limits = limits }

  package func contains(_ id: SessionID) -> Bool { entries[id] != nil }

  /// Adds a session that has just become idle, with its descriptors and the bytes that can be read again.
  package mutating func insert(
    _ id: SessionID, descriptors: Int, bytes: Int = 0, at now: ContinuousClock.Instant
  ) {
    remove(id)
    order.insert(id, cost: Int64(descriptors))
    entries[id] = Entry(since: now, isConnected: descriptors > 0, bytes: bytes)
    connected += descriptors > 0 ? 1 : 0
    self.bytes += bytes
  }

  /// Changes the bytes of an idle session. Its idle time continues.
  package mutating func update(_ id: SessionID, bytes: Int) {
    guard let entry = entries[id] else { return }
    self.bytes += bytes - entry.bytes
    entries[id]?.bytes = bytes
  }

  /// Removes a session that is busy or has ended.
  package mutating func remove(_ id: SessionID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    order.remove(id)
    connected -= entry.isConnected ? 1 : 0
    bytes -= entry.bytes
  }

  /// Whether some sessions must go before their time.
  package var exceedsLimits: Bool {
    connected > limits.sessions || order.cost > Int64(limits.descriptors) || bytes > limits.bytes
  }

  /// The time at which the next session has been idle for too long; `nil` if no session is idle.
  package var nextDeadline: ContinuousClock.Instant? {
    order.oldest.flatMap { entries[$0] }.map { $0.since + limits.lifetime }
  }

  /// Removes and returns the sessions that must close their connections now, the longest idle first.
  package mutating func takeOverdue(at now: ContinuousClock.Instant) -> [SessionID] {
    var overdue: [SessionID] = []
    while let oldest = order.oldest, let begin = entries[oldest]?.since {
      guard begin + limits.lifetime <= now || exceedsLimits else { break }
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
