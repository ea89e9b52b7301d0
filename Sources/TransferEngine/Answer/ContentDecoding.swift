internal import ContentCoding
internal import Curl
internal import TransferModel

/// What a transfer knows of the codings of its answer's content, and how it is decoded. Pure but for the decoder's own state.
struct ContentDecoding {
  /// Bytes that are decoded in one go: then it is the turn of others.
  static let atOnce = 1 << 20
  /// Bytes that the decoder writes at once.
  static let pieceSize = 32 * 1024

  /// The request accepts codings, and those of its answer were not looked at yet.
  var isWanted = false
  var decoder: ContentDecoder?
  /// The bytes that the decoder has taken of those that libcurl will offer again.
  var taken = 0
  var fault: ContentDecoder.Fault?

  /// Whether the content ended in the middle of its coding.
  var isCut: Bool { fault == nil && decoder?.isComplete == false }

  /// What becomes of bytes once they are decoded.
  enum Room { case taken, full, refused }

  /// The decoder of an answer that has one; made when the first bytes of the body come. Content in a coding that is not known is
  /// handed over as it came, as URLSession and browsers do.
  mutating func decoder(for codings: @autoclosure () -> [String]) throws(ContentDecoder.Fault)
    -> ContentDecoder?
  {
    if let decoder { return decoder }
    guard isWanted else { return nil }
    isWanted = false
    decoder = try ContentDecoder(codings: codings())
    return decoder
  }

  /// Decodes what came from the wire. Where nobody can take more, the rest waits as it came: libcurl is told that nothing was
  /// taken, offers all of it again, and what the decoder has had of it is passed over.
  /// - Parameters:
  ///   - take: hands decoded bytes on; given how many were decoded in this go.
  ///   - consumed: hears how many of the coded bytes were used.
  mutating func decode(
    _ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder,
    take: (UnsafeRawBufferPointer, _ count: Int) -> Room, consumed: (Int) -> Void
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
