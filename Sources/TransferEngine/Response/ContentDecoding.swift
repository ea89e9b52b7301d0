internal import ContentCoding
internal import Curl
internal import TransferModel

/// The decoding of a response's content. Pure, except for the decoder's own state.
struct ContentDecoding {
  /// The number of bytes that are decoded in one turn.
  static let atOnce = 1 << 20
  /// The number of bytes that the decoder writes at once.
  static let pieceSize = 32 * 1024

  /// Whether the request accepts codings and the response's codings were not examined yet.
  var acceptsCodings = false
  var decoder: ContentDecoder?
  /// The number of coded bytes that the decoder has taken and that libcurl will offer again.
  var taken = 0
  var fault: ContentDecoder.Fault?

  /// Whether the content ended in the middle of its coding.
  var isTruncated: Bool { fault == nil && decoder?.isComplete == false }

  /// The outcome of decoded bytes.
  enum SinkResult { case taken, full, refused }

  /// Returns the response's decoder, created with the first bytes of the body; `nil` if the content needs none. Content in an unknown
  /// coding is delivered as received, as in URLSession and browsers.
  mutating func decoder(for codings: @autoclosure () -> [String]) throws(ContentDecoder.Fault)
    -> ContentDecoder?
  {
    if let decoder { return decoder }
    guard acceptsCodings else { return nil }
    acceptsCodings = false
    decoder = try ContentDecoder(codings: codings())
    return decoder
  }

  /// Decodes received bytes. If the receiver is full, the rest waits undecoded and libcurl is paused. libcurl later offers all bytes again,
  /// and the decoded ones are skipped.
  /// - Parameters:
  ///   - take: Receives decoded bytes and their count in this call.
  ///   - consumed: Receives the number of coded bytes that were used.
  mutating func decode(
    _ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder,
    take: (UnsafeRawBufferPointer, _ count: Int) -> SinkResult, consumed: (Int) -> Void
  ) throws(ContentDecoder.Fault) -> BodyDisposition {
    guard taken <= bytes.count else {
      taken -= bytes.count
      return .accepted
    }
    var rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(taken))
    let offered = rest.count
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
    defer {
      buffer.deallocate()
      consumed(offered - rest.count)
    }
    var decoded = 0
    while true {
      let count = try decoder.decode(&rest, into: buffer)
      guard count > 0 else {
        taken = 0
        return .accepted
      }
      decoded += count
      switch take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), decoded) {
      case .taken: break
      case .refused: return .refused
      case .full:
        taken = bytes.count - rest.count
        return .paused
      }
    }
  }
}
