internal import TransferModel

/// What becomes of the bytes that have come, when a transfer ends. Pure.
enum BodyFate: Equatable {
  /// There are none.
  case nothing
  /// They are the task's.
  case whole
  /// A later download goes on from them.
  case resumable(PartialBody)
  /// They may serve the session's cache (RFC 9111 §3.3).
  case cached
  case dropped

  /// What is known at the end.
  struct Ending {
    var hasFailed: Bool
    /// The caller wants what can be kept to be kept.
    var keepsPartial: Bool
    /// Bytes that have come; nil where there was no body to come.
    var size: Int64?
    var isTooLarge: Bool
    /// They come from the session's cache.
    var isFromCache: Bool
    var hasResponse: Bool
  }

  /// - Parameters:
  ///   - partial: what is being downloaded, if a later download could continue it; its offset does not matter.
  ///   - isCacheable: whether the cache could use so much of the body.
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
