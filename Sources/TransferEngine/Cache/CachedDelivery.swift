internal import HTTPCache

/// A stored response on its way to a task.
struct CachedDelivery {
  let stored: CachedResponse
  /// Which of its bytes are the body.
  let bytes: Range<Int64>
  var offset: Int64 = 0
  /// Nothing more is read of it.
  var isEnded = false
  /// A piece of it is being read.
  var isReading = false

  var rest: Range<Int64> { bytes.lowerBound + offset..<bytes.upperBound }
}
