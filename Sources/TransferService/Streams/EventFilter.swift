package import TransferModel

/// The filter of an event stream.
package struct EventFilter: Sendable {
  /// The event after which the stream begins, or `nil` for new events only.
  package var after: Int64?
  /// The wanted types, or `nil` for all types.
  package var types: Set<EventType>?
  package var wantsProgress: Bool
  /// Whether the bytes of data tasks are sent inline.
  package var wantsData: Bool
  /// The group and the labels of the wanted events, or `nil` for all events.
  package var tags: TaskTags?

  package init(
    after: Int64?, types: Set<EventType>?, wantsProgress: Bool, wantsData: Bool, tags: TaskTags? = nil
  ) {
    self.after = after
    self.types = types
    self.wantsProgress = wantsProgress
    self.wantsData = wantsData
    self.tags = tags
  }
}
