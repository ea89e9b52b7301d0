internal import CCompression

/// gzip (RFC 1952), and what is called deflate: zlib's format (RFC 1950), or the bare stream (RFC 1951) that many servers send.
final class ZlibDecoder: Decoder {
  enum Format {
    case gzip
    /// zlib's or bare: the first two bytes tell.
    case deflate
  }
  private enum State {
    /// The bytes that are to tell the format.
    case undecided([UInt8])
    case open
    case ended
  }

  private let format: Format
  private var state: State
  private var isBare = false
  private var stream = z_stream()
  private var hasStream = false
  /// What told the format and is yet to be decoded.
  private var start: [UInt8] = []
  /// Bytes behind a bare stream, which some servers send.
  private var trailing = 0
  private static let maximumTrailing = 4

  init(_ format: Format) throws(ContentDecoder.Fault) {
    self.format = format
    state = .undecided([])
    guard format == .gzip else { return }
    try open(windowBits: MAX_WBITS + 16)
  }

  deinit { if hasStream { inflateEnd(&stream) } }

  var isComplete: Bool {
    switch state {
    case .ended: true
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
      isBare = bytes[0] & 0x0F != 8 || bytes[0] >> 4 > 7 || (Int(bytes[0]) << 8 + Int(bytes[1])) % 31 != 0
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
      if case .ended = state {
        guard try begin(&input) else { return 0 }
      }
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

  /// What stands behind the end of a stream: another gzip member, or the few bytes that are passed over.
  private func begin(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.Fault) -> Bool {
    guard !input.isEmpty else { return false }
    if format == .gzip {
      guard inflateReset(&stream) == Z_OK else { throw .malformed }
      state = .open
      return true
    }
    trailing += input.count
    guard isBare, trailing <= Self.maximumTrailing else { throw .malformed }
    input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
    return false
  }
}
