internal import Limits
internal import Synchronization

/// A limit on the total bytes of several bodies: the request bodies in memory, or the replies that are being sent.
final class ByteBudget: Sendable {
  private let taken = Mutex(0)
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  var inUse: Int { taken.withLock { $0 } }

  func reserve(_ size: Int) -> Bool {
    taken.withLock { taken in
      guard taken + size <= capacity else { return false }
      taken += size
      return true
    }
  }

  func release(_ size: Int) { taken.withLock { $0 -= size } }
}

/// One body's share of the limit, returned on deinit. Small bodies do not count, so they are always received.
final class BudgetReservation: Sendable {
  private let budget: ByteBudget?
  private let taken = Mutex((bytes: 0, counted: 0))

  /// Makes an empty reservation.
  /// - Parameter budget: the limit; `nil` for no limit.
  init(_ budget: ByteBudget?) { self.budget = budget }
  deinit { budget?.release(taken.withLock { $0.counted }) }

  /// Counts `count` more bytes of the body; throws `noRoom` if the limit is reached.
  func reserve(_ count: Int) throws(RequestBodyError) {
    let isGranted = taken.withLock { taken in
      taken.bytes += count
      let missing = taken.bytes - taken.counted
      guard let budget, taken.bytes > Limits.smallBodyBytes.value else { return true }
      guard budget.reserve(missing) else { return false }
      taken.counted += missing
      return true
    }
    guard isGranted else { throw .noRoom }
  }
}
