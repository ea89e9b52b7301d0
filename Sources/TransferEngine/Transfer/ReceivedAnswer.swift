internal import EngineAPI
internal import TransferModel

/// The received part of the answer to a request. The next request begins with a new one.
struct ReceivedAnswer {
  var parser = ResponseHeadParser()
  /// What a proxy said to CONNECT.
  var connectHead: ResponseHead?
  /// A head of libcurl's own negotiation; the result if no other follows.
  var provisionalHead: ResponseHead?
  var head: ResponseHead?
  /// When `head` came.
  var headTime = Timestamp(microseconds: 0)
  /// Set if the body is chunked.
  var chunks: ChunkFraming?
  var multipart: MultipartAnswer?
  /// Nil for a download.
  var live: LiveBody?
}
