internal import CCompression

/// A decoder of gzip (RFC 1952) and of deflate. The coding deflate means zlib's format (RFC 1950), or the bare stream (RFC 1951) that many
/// servers send. After a complete stream it ignores bytes that begin no other gzip member, such as padding or line ends, as gunzip and
/// browsers do.
final class ZlibDecoder: Decoder {
  enum Format {
    case gzip
    /// zlib's format or a bare stream, distinguished by the first two bytes.
    case deflate
  }
  private enum State {
    /// The first bytes, which will determine the format.
    case undecided([UInt8])
    case open
    /// The stream is complete; another gzip member may follow.
    case ended
    /// Other bytes follow the stream, and are ignored.
    case over
  }

  private let format: Format
  private var state: State
  private var stream = z_stream()
  private var hasStream = false
  /// The bytes that determined the format and must still be decoded.
  private var start: [UInt8] = []
  /// The first byte of a member (ID1, RFC 1952 §2.3.1).
  private static let memberStart: UInt8 = 0x1F

  init(_ format: Format) throws(ContentDecoder.Fault) {
    self.format = format
    state = .undecided([])
    guard format == .gzip else { return }
    try open(windowBits: MAX_WBITS + 16)
  }

  deinit { if hasStream { inflateEnd(&stream) } }

  var isComplete: Bool {
    switch state {
    case .ended, .over: true
    case .undecided(let bytes): bytes.isEmpty
    case .open: stream.total_in == 0 && format == .gzip
    }
  }

  private func open(windowBits: Int32) throws(ContentDecoder.Fault) {
    guard ccompression_inflate_init(&stream, windowBits) == Z_OK else { throw .outOfMemory }
    hasStream = true
    state = .open
  }

  func decode(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecoder.Fault) -> Int {
    if case .undecided(var bytes) = state {
      while bytes.count < 2, let byte = input.first {
        bytes.append(byte)
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
      }
      state = .undecided(bytes)
      guard bytes.count == 2 else { return 0 }
      // CM, CINFO and FCHECK of RFC 1950 §2.2.
      let isBare = bytes[0] & 0x0F != 8 || bytes[0] >> 4 > 7 || (Int(bytes[0]) << 8 + Int(bytes[1])) % 31 != 0
      try open(windowBits: isBare ? -MAX_WBITS : MAX_WBITS)
      start = bytes
    }
    if !start.isEmpty {
      let (count, left) = try inflateStart(into: output)
      start.removeFirst(start.count - left)
      if count > 0 || left > 0 { return count }
    }
    return try inflate(&input, into: output)
  }

  private func inflateStart(
    into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecoder.Fault) -> (Int, left: Int) {
    let result = start.withUnsafeBytes { buffer in
      Result { () throws(ContentDecoder.Fault) in
        var rest = buffer
        let count = try inflate(&rest, into: output)
        return (count, rest.count)
      }
    }
    return try result.get()
  }

  private func inflate(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecoder.Fault) -> Int {
    while true {
      guard hasInputToInflate(&input) else { return 0 }
      let (offered, room) = (UInt32(clamping: input.count), UInt32(clamping: output.count))
      stream.next_in = input.baseAddress.map {
        UnsafeMutablePointer(mutating: $0.assumingMemoryBound(to: UInt8.self))
      }
      stream.avail_in = offered
      stream.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.avail_out = room
      let status = CCompression.inflate(&stream, Z_NO_FLUSH)
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst(Int(offered - stream.avail_in)))
      let count = Int(room - stream.avail_out)
      switch status {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END: state = .ended
      case Z_MEM_ERROR: throw .outOfMemory
      default: throw .malformed
      }
      if count > 0 || input.isEmpty { return count }
      guard status == Z_OK || status == Z_STREAM_END else { throw .malformed }
    }
  }

  /// Returns whether there are bytes to inflate, in this member or the next. Otherwise drops the input.
  private func hasInputToInflate(_ input: inout UnsafeRawBufferPointer) -> Bool {
    if case .ended = state, let first = input.first {
      let isMember = format == .gzip && first == Self.memberStart && inflateReset(&stream) == Z_OK
      state = isMember ? .open : .over
    }
    if case .open = state { return true }
    input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
    return false
  }
}
