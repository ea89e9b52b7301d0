internal import Limits

/// Room for replies that their clients are still reading. Small ones take none. On the loop only.
struct ReplyRoom {
  static let capacity = Limits.replyBytes.value
  private var taken = 0

  /// False where there is no room.
  mutating func take(_ size: Int, of capacity: Int) -> Bool {
    guard size > Limits.smallBodyBytes.value else { return true }
    guard taken + size <= capacity else { return false }
    taken += size
    return true
  }

  mutating func give(_ size: Int) { if size > Limits.smallBodyBytes.value { taken -= size } }
}
