internal import HTTPCache

/// A stored response that is being delivered to a task.
struct CachedBodyDelivery {
  let stored: CachedResponse
  /// The bytes of the stored body that are the response's body.
  let bytes: Range<Int64>
  var offset: Int64 = 0
  /// Whether delivery has ended.
  var isEnded = false
  /// Whether a piece of the body is being read.
  var isReading = false

  var rest: Range<Int64> { bytes.lowerBound + offset..<bytes.upperBound }
}
