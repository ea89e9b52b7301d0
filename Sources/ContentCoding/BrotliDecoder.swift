internal import CCompression

/// A decoder of br (RFC 7932). It ignores bytes after the end of the stream, as browsers do.
final class BrotliDecoder: Decoder {
  private let state: OpaquePointer
  private var hasBegun = false

  init() throws(ContentDecoder.Fault) {
    guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else { throw .outOfMemory }
    self.state = state
  }
  deinit { BrotliDecoderDestroyInstance(state) }

  var isComplete: Bool { !hasBegun || BrotliDecoderIsFinished(state) != 0 }

  func decode(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecoder.Fault) -> Int {
    guard !skipsTrailing(&input) else { return 0 }
    hasBegun = hasBegun || !input.isEmpty
    var (offered, room) = (input.count, output.count)
    var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var free = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let result = BrotliDecoderDecompressStream(state, &offered, &next, &room, &free, nil)
    guard result != BROTLI_DECODER_RESULT_ERROR else { throw .malformed }
    input = UnsafeRawBufferPointer(rebasing: input.suffix(offered))
    let count = output.count - room
    guard count > 0 || input.isEmpty || skipsTrailing(&input) else { throw .malformed }
    return count
  }

  /// Drops input that follows the end of the stream. Returns whether the stream has ended.
  private func skipsTrailing(_ input: inout UnsafeRawBufferPointer) -> Bool {
    guard BrotliDecoderIsFinished(state) != 0 else { return false }
    input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
    return true
  }
}
