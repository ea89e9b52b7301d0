internal import EngineAPI
internal import TransferModel

/// The received part of the response to a request. The next request begins with a new one.
struct ReceivedResponse {
  var parser = ResponseHeadParser()
  /// The proxy's response to CONNECT.
  var connectHead: ResponseHead?
  /// A head of libcurl's own negotiation. It becomes the response if no other head follows.
  var provisionalHead: ResponseHead?
  var head: ResponseHead?
  /// The time at which `head` was received.
  var headTime = Timestamp(microseconds: 0)
  /// Set if the body is chunked.
  var chunks: ChunkFraming?
  var multipart: MultipartResponse?
  /// `nil` for a download.
  var live: LiveBody?
}
