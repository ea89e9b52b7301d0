internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// The cache state of a transfer's request. The next request begins with a new one.
struct TransferCacheState {
  /// The cached response that answers the request.
  var delivery: CachedBodyDelivery?
  /// The cached and the received part, combined.
  var combining: PartialContent?
  /// The storage policy, from the delegate or by default; `nil` if unset.
  var storagePolicy: CacheStoragePolicy?
  /// The header fields that the delegate wants stored; `nil` for those of the response.
  var storedHeaders: HTTPHeaders?
  /// Whether to store the received part of a broken response.
  var keepsForCache = false
}
