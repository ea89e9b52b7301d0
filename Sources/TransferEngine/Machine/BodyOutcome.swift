internal import TransferModel

/// The outcome of the received bytes when a transfer ends. Pure.
enum BodyOutcome: Equatable {
  /// There are no bytes.
  case nothing
  /// The bytes are the task's body.
  case whole
  /// The bytes are kept for a later download to continue.
  case resumable(PartialBody)
  /// The bytes are kept for the session's cache only (RFC 9111 §3.3).
  case cached
  case dropped

  /// The facts at the end of the transfer.
  struct Ending {
    var hasFailed: Bool
    /// Whether the caller wants usable bytes kept.
    var keepsPartial: Bool
    /// The number of received bytes; `nil` if there was no body to receive.
    var size: Int64?
    var isTooLarge: Bool
    /// Whether the bytes come from the session's cache.
    var isFromCache: Bool
    var hasResponse: Bool
  }

  /// - Parameters:
  ///   - partial: Returns the received part, if a later download could continue it. Its offset is ignored.
  ///   - isCacheable: Returns whether the cache could use the received part.
  init(at end: Ending, partial: @autoclosure () -> PartialBody?, isCacheable: @autoclosure () -> Bool) {
    guard let size = end.size else {
      self = .nothing
      return
    }
    guard end.hasFailed else {
      self = .whole
      return
    }
    guard end.keepsPartial, !end.isTooLarge else {
      self = .dropped
      return
    }
    if !end.isFromCache, end.hasResponse, size > 0, var partial = partial() {
      partial.offset = size
      self = .resumable(partial)
    } else {
      self = isCacheable() ? .cached : .dropped
    }
  }
}
