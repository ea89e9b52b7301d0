internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// How a transfer's request uses the session's cache. The next request begins with a new one.
struct CacheShare {
  /// The cached response that answers the request.
  var delivery: CachedDelivery?
  /// The cached and the received part, combined.
  var combining: PartialContent?
  /// Storage policy, from the delegate or by default; nil: unset.
  var storagePolicy: CacheStoragePolicy?
  /// Fields the delegate wants stored; nil: the answer's.
  var storedHeaders: HTTPHeaders?
  /// Whether to store the received part of a broken answer.
  var keepsForCache = false
}
