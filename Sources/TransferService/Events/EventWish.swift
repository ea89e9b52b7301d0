package import TransferModel

/// What a reader wants of a stream's events.
package struct EventWish: Sendable {
  /// Those that came after this one are told first; nil: only what comes from now on.
  package var after: Int64?
  /// nil: all.
  package var types: Set<EventType>?
  package var wantsProgress: Bool
  /// The bytes of data tasks come along.
  package var wantsData: Bool

  package init(after: Int64?, types: Set<EventType>?, wantsProgress: Bool, wantsData: Bool) {
    self.after = after
    self.types = types
    self.wantsProgress = wantsProgress
    self.wantsData = wantsData
  }
}
