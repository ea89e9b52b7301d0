internal import CHandshake

/// Information about the request's HTTP/2 stream that libcurl does not report.
extension EasyHandle {
  /// Whether the server reported that it did not process the request (RFC 9113 §8.7): it refused the stream, or excluded it in a GOAWAY.
  package var isUnprocessed: Bool { stream.pointee.is_unprocessed }

  /// Whether the whole response was received and delivered. It is then the result, even if the request could not be sent to its end
  /// (RFC 9113 §8.1).
  package var hasWholeResponse: Bool {
    let stream = stream.pointee
    return stream.is_answered && !stream.is_broken && stream.received == info(.downloaded)
  }

  func resetStream() { stream.pointee = cstreams_stream() }

  /// Starts to record the streams of all easy handles.
  static let recordsStreams: Void = cstreams_record(findStream)
}

@c private func findStream(_ easy: UnsafeMutableRawPointer) -> UnsafeMutablePointer<cstreams_stream>? {
  EasyHandle.owner(of: easy)?.stream
}
