internal import CCompression

/// A decoder of zstd (RFC 8878). After a complete frame it ignores bytes that begin no other frame, as browsers do.
final class ZstandardDecoder: Decoder {
  /// The largest window of a content coding, as a power of two: 8 MiB (RFC 9659 §3).
  private static let windowLog: Int32 = 23

  private let context: OpaquePointer
  private(set) var isComplete = true
  private var hasFrame = false
  private var isOver = false

  init() throws(ContentDecoder.Fault) {
    guard let context = ZSTD_createDCtx() else { throw .outOfMemory }
    self.context = context
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLog)
  }
  deinit { ZSTD_freeDCtx(context) }

  func decode(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecoder.Fault) -> Int {
    while true {
      if isComplete, hasFrame, let first = input.first, !Self.beginsFrame(first) { isOver = true }
      if isOver { input = UnsafeRawBufferPointer(rebasing: input.suffix(0)) }
      // Between frames no output is pending.
      if isComplete, input.isEmpty { return 0 }
      var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
      var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
      let hint = ZSTD_decompressStream(context, &target, &source)
      guard ZSTD_isError(hint) == 0 else { throw .malformed }
      isComplete = hint == 0
      hasFrame = hasFrame || isComplete
      let isStuck = source.pos == 0 && target.pos == 0
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst(source.pos))
      if target.pos > 0 || input.isEmpty { return target.pos }
      if isStuck { throw .malformed }
    }
  }

  /// Returns whether a byte begins a frame's magic number, or a skippable frame's (RFC 8878 §3.1.1 and §3.1.2).
  private static func beginsFrame(_ byte: UInt8) -> Bool { byte == 0x28 || byte & 0xF0 == 0x50 }
}
