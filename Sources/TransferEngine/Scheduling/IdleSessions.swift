internal import HTTPCache
package import TransferModel

/// Sessions that have connections and nothing to do, by how long that has been so: which of them give theirs back.
package struct IdleSessions: Sendable {
  /// What idle sessions may keep on one worker.
  package struct Limits: Sendable, Equatable {
    /// How long one keeps its connections: as long as most origins keep theirs.
    package var lifetime = Duration.seconds(60)
    package var sessions = 256
    /// Descriptors of all of them together.
    package var descriptors = 2048
    /// Approximate bytes of what can be read again: large configurations, the certificates parsed from them, cookies and credentials.
    package var bytes = 16 << 20

    package init() {}

    /// - Parameters:
    ///   - limit: descriptors that the process may have.
    ///   - workers: how many share them.
    package init(descriptorLimit limit: Int, workers: Int) {
      descriptors = min(descriptors, limit / (8 * max(1, workers)))
    }
  }

  private let limits: Limits
  private var order = RecencyList<SessionID>()
  private var since: [SessionID: ContinuousClock.Instant] = [:]
  /// Bytes of each session that has any.
  private var sizes: [SessionID: Int] = [:]
  private var size = 0

  package init(limits: Limits) { self.limits = limits }

  /// The session has just become idle, with so many descriptors and so many bytes.
  package mutating func insert(
    _ id: SessionID, descriptors: Int, bytes: Int = 0, at now: ContinuousClock.Instant
  ) {
    size += bytes - (sizes[id] ?? 0)
    sizes[id] = bytes > 0 ? bytes : nil
    order.insert(id, cost: Int64(descriptors))
    since[id] = now
  }

  /// It has something to do, or is over.
  package mutating func remove(_ id: SessionID) {
    guard since.removeValue(forKey: id) != nil else { return }
    order.remove(id)
    size -= sizes.removeValue(forKey: id) ?? 0
  }

  /// Whether some are to go before their time.
  package var areTooMany: Bool {
    order.count > limits.sessions || order.cost > Int64(limits.descriptors) || size > limits.bytes
  }

  /// When the next has been idle for too long; nil where none is.
  package var nextDeadline: ContinuousClock.Instant? {
    order.oldest.flatMap { since[$0] }.map { $0 + limits.lifetime }
  }

  /// Those that are to close their connections now, the longest idle first.
  package mutating func takeOverdue(at now: ContinuousClock.Instant) -> [SessionID] {
    var overdue: [SessionID] = []
    while let oldest = order.oldest, let begin = since[oldest] {
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
