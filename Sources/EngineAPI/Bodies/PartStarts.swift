internal import DequeModule

/// Where the parts of a multipart response begin in its body. Only the last ones are kept: a response may have parts without end, and no
/// reader of the body is far behind (`LiveBody.window`). Pure.
struct PartStarts {
  /// Starts that are kept.
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

  /// The start of a part, or of the oldest that is kept if that one is later.
  /// - Precondition: there is such a part.
  subscript(index: Int) -> Int64 { starts[max(0, index - dropped)] }
}
