internal import Limits

/// Room for replies that their clients are still reading. Small replies do not count. On the loop only.
struct ReplyBudget {
  static let capacity = Limits.replyBytes.value
  private var taken = 0

  /// False where there is no room.
  mutating func reserve(_ size: Int, of capacity: Int) -> Bool {
    guard size > Limits.smallBodyBytes.value else { return true }
    guard taken + size <= capacity else { return false }
    taken += size
    return true
  }

  mutating func release(_ size: Int) { if size > Limits.smallBodyBytes.value { taken -= size } }
}
