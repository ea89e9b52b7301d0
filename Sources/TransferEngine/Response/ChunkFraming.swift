internal import TransferModel

/// The position in a chunked body (RFC 9112 §7.1), by its bytes on the wire. It detects only the end of the body; libcurl refuses malformed
/// chunks. Pure.
struct ChunkFraming {
  private enum Part {
    /// The size in a line, as far as it was read.
    case size(UInt64)
    /// The rest of the line.
    case extensions(size: UInt64)
    case data(left: UInt64)
    case lineEnd
    case trailer
  }
  private var part = Part.size(0)

  /// Whether the last chunk was received. The body is then complete, even if its trailer fields are cut off (§8).
  var hasLastChunk: Bool { if case .trailer = part { true } else { false } }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      let isLineEnd = byte == 0x0A
      switch part {
      case .trailer: return
      case .data(let left):
        let count = min(left, UInt64(bytes.count - place))
        part = count == left ? .lineEnd : .data(left: left - count)
        place += Int(count)
        continue
      case .lineEnd: if isLineEnd { part = .size(0) }
      case .size(let size), .extensions(let size):
        if isLineEnd {
          part = size == 0 ? .trailer : .data(left: size)
        } else if case .size = part, let digit = Hexadecimal.value(of: byte) {
          part = .size(size << 4 | UInt64(digit))
        } else {
          part = .extensions(size: size)
        }
      }
      place += 1
    }
  }
}
