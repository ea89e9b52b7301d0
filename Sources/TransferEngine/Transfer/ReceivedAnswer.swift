internal import EngineAPI
internal import TransferModel

/// What has come of the answer to a transfer's request. The next request begins with a new one.
struct ReceivedAnswer {
  var parser = ResponseHeadParser()
  /// What a proxy said to CONNECT.
  var connectHead: ResponseHead?
  /// A leg of what libcurl negotiates by itself; the result where no other answer follows.
  var provisionalHead: ResponseHead?
  var head: ResponseHead?
  /// When `head` came.
  var headTime = Timestamp(microseconds: 0)
  /// Of a body that comes in chunks.
  var chunks: ChunkFraming?
  var multipart: MultipartAnswer?
  /// Nil for a download.
  var live: LiveBody?
}
