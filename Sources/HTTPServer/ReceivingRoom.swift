internal import Limits
internal import Synchronization

/// Room for the bodies that handlers collect at the same time.
final class ReceivingRoom: Sendable {
  static let capacity = Limits.receivingBytes.value
  private let taken = Mutex(0)
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  func take(_ size: Int) -> Bool {
    taken.withLock { taken in
      guard taken + size <= capacity else { return false }
      taken += size
      return true
    }
  }

  func give(_ size: Int) { taken.withLock { $0 -= size } }
}

/// What one body takes of that room, until it is let go of. Small bodies take none: they are received whatever else is.
package final class ReceivingShare: Sendable {
  private let room: ReceivingRoom?
  private let taken = Mutex((bytes: 0, counted: 0))

  /// - Parameter room: nil: there is no limit.
  init(_ room: ReceivingRoom?) { self.room = room }
  deinit { room?.give(taken.withLock { $0.counted }) }

  /// More of the body has come.
  package func take(_ count: Int) throws(RequestBodyError) {
    let isGranted = taken.withLock { taken in
      taken.bytes += count
      let missing = taken.bytes - taken.counted
      guard let room, taken.bytes > Limits.smallBodyBytes.value else { return true }
      guard room.take(missing) else { return false }
      taken.counted += missing
      return true
    }
    guard isGranted else { throw .noRoom }
  }
}
