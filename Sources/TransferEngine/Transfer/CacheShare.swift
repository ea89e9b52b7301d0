internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// What a transfer's request has to do with the session's cache. The next request begins with a new one.
struct CacheShare {
  /// The cached response that answers the request.
  var delivery: CachedDelivery?
  /// What a cached part and what has come are together.
  var combining: PartialContent?
  /// What the delegate, or nobody, said about storing the answer.
  var storagePolicy: CacheStoragePolicy?
  /// The fields that it wants stored; nil: the answer's own.
  var storedHeaders: HTTPHeaders?
  /// What has come of an answer that broke off is to be stored.
  var keepsForCache = false
}
