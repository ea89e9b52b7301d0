internal import CHandshake

/// What becomes of the HTTP/2 stream by which a transfer's request went out, as far as libcurl does not say.
extension EasyHandle {
  /// The server has not processed the request (RFC 9113 §8.7): it refused the stream, or left it out in a GOAWAY.
  package var isUnprocessed: Bool { stream.pointee.is_unprocessed }

  /// All of the answer has come, and was handed over: it is the result, also where the request could not be sent to its end
  /// (RFC 9113 §8.1).
  package var hasWholeAnswer: Bool {
    let stream = stream.pointee
    return stream.is_answered && !stream.is_broken && stream.received == info(.downloaded)
  }

  func forgetStream() { stream.pointee = cstreams_stream() }

  /// Has the streams of all easy handles recorded.
  static let recordsStreams: Void = cstreams_record(findStream)
}

@c private func findStream(_ easy: UnsafeMutableRawPointer) -> UnsafeMutablePointer<cstreams_stream>? {
  EasyHandle.owner(of: easy)?.stream
}
