internal import ContentCoding
internal import Curl
internal import TransferModel

/// What a transfer knows of the codings of its answer's content.
struct ContentDecoding {
  /// Bytes that are decoded in one go: then it is the turn of others.
  static let atOnce = 1 << 20
  /// Bytes that the decoder writes at once.
  static let pieceSize = 32 * 1024

  /// The request asked for an answer that is to be decoded.
  var isWanted = false
  var decoder: ContentDecoder?
  /// The bytes that the decoder has taken of those that libcurl will offer again.
  var taken = 0
  var fault: ContentDecoder.Fault?

  /// Whether the content ended in the middle of its coding.
  var isCut: Bool { fault == nil && decoder?.isComplete == false }
}

extension Transfer {
  /// The decoder of an answer that has one; made when the first bytes of the body come. Content in a coding that is not known is
  /// handed over as it came, as URLSession and browsers do.
  private func decoder() throws(ContentDecoder.Fault) -> ContentDecoder? {
    if let decoder = content.decoder { return decoder }
    guard content.isWanted, let codings = head?.headers["Content-Encoding"] else { return nil }
    content.decoder = try ContentDecoder(codings: codings)
    return content.decoder
  }

  /// Takes bytes of the body, as they come from the wire.
  func take(_ bytes: UnsafeRawBufferPointer, into sink: BodySink) -> BodyDisposition {
    do throws(ContentDecoder.Fault) {
      guard let decoder = try decoder() else {
        charge(bytes.count)
        return deliver(bytes, to: sink) ? .accepted : .refused
      }
      return try decode(bytes, decoder, into: sink)
    } catch {
      content.fault = error
      return .refused
    }
  }

  /// Where nobody can take more, the rest waits as it came: libcurl is told that nothing was taken, offers all of it again,
  /// and what the decoder has had of it is passed over.
  private func decode(
    _ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder, into sink: BodySink
  ) throws(ContentDecoder.Fault) -> BodyDisposition {
    guard content.taken <= bytes.count else {
      content.taken -= bytes.count
      return .accepted
    }
    var rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(content.taken))
    let offered = rest.count
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: ContentDecoding.pieceSize, alignment: 16)
    defer {
      buffer.deallocate()
      charge(offered - rest.count)
    }
    var decoded = 0
    while true {
      let count = try decoder.decode(&rest, into: buffer)
      guard count > 0 else {
        content.taken = 0
        return .accepted
      }
      guard deliver(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: sink) else { return .refused }
      decoded += count
      if decoded >= ContentDecoding.atOnce {
        flow.receive.insert(.rate)
        tools.holdForRate(self, .receive, .zero)
      }
      if mustWait(for: sink) {
        content.taken = bytes.count - rest.count
        return .paused
      }
    }
  }
}
