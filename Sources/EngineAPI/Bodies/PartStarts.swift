internal import DequeModule

/// The offsets of the parts of a multipart response in its body. Only the last ones are kept: a response may have an endless number of
/// parts, and no reader of the body lags far (`LiveBody.window`). Pure.
struct PartStarts {
  /// The maximum number of kept offsets.
  static let most = 16 * 1024
  private var starts = Deque<Int64>()
  private var dropped = 0

  var count: Int { dropped + starts.count }
  var last: Int64? { starts.last }

  mutating func append(_ start: Int64) {
    starts.append(start)
    guard starts.count > Self.most else { return }
    starts.removeFirst()
    dropped += 1
  }

  /// Returns the offset of a part, or the oldest kept offset if that is later.
  /// - Precondition: The part exists.
  subscript(index: Int) -> Int64 { starts[max(0, index - dropped)] }
}
