internal import DequeModule
internal import Limits
internal import TransferModel

/// The attempts that are running, counted by the health of their destinations. A plain value.
struct AttemptPools: Sendable {
  private struct Flight: Sendable {
    let destination: DestinationID
    let isProven: Bool
    var isSlow = false
  }

  /// After this time an attempt counts as slow.
  static let slowAfter = Duration.seconds(1)

  private var flights: [DeliveryID: Flight] = [:]
  /// The starts of attempts, in order.
  private var starts = Deque<(id: DeliveryID, time: ContinuousClock.Instant)>()
  private var (provenCount, unprovenCount) = (0, 0)
  private(set) var slowCount = 0

  var count: Int { flights.count }
  var hasRoomForProven: Bool { provenCount < Limits.webhookAttempts.value }
  var hasRoomForUnproven: Bool {
    unprovenCount < Limits.webhookAttempts.value && slowCount < Limits.slowAttempts.value
  }

  mutating func start(
    _ id: DeliveryID, to destination: DestinationID, isProven: Bool, at time: ContinuousClock.Instant
  ) {
    flights[id] = Flight(destination: destination, isProven: isProven)
    starts.append((id, time))
    count(isProven, 1)
  }

  /// - Returns: the attempt's destination, and whether it was slow.
  mutating func end(_ id: DeliveryID) -> (destination: DestinationID, isSlow: Bool)? {
    guard let flight = flights.removeValue(forKey: id) else { return nil }
    if flight.isSlow { slowCount -= 1 } else { count(flight.isProven, -1) }
    return (flight.destination, flight.isSlow)
  }

  /// - Returns: the destinations of attempts that have become slow.
  mutating func markSlow(at time: ContinuousClock.Instant) -> [DestinationID] {
    var found: [DestinationID] = []
    while let first = starts.first, first.time + Self.slowAfter <= time {
      starts.removeFirst()
      guard let flight = flights[first.id], !flight.isSlow else { continue }
      flights[first.id]?.isSlow = true
      slowCount += 1
      count(flight.isProven, -1)
      found.append(flight.destination)
    }
    return found
  }

  /// The time at which the next attempt becomes slow and makes room; `nil` if there is room.
  var nextRoom: ContinuousClock.Instant? {
    guard !hasRoomForProven || !hasRoomForUnproven else { return nil }
    return starts.first.map { $0.time + Self.slowAfter }
  }

  private mutating func count(_ isProven: Bool, _ change: Int) {
    if isProven { provenCount += change } else { unprovenCount += change }
  }
}
