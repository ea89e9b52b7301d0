internal import CCompression

/// One complete member of the gzip format (RFC 1952).
package enum Gzip {
  /// The fastest level: a page of JSON shrinks to a tenth of its size even so.
  package static let level: Int32 = 1

  /// Returns the compressed bytes; `nil` if memory is short or there are 2 GiB or more.
  /// - Parameter level: from 1 (fastest) to 9 (smallest).
  package static func compress(_ bytes: [UInt8], level: Int32 = Gzip.level) -> [UInt8]? {
    var stream = z_stream()
    guard bytes.count <= Int32.max, ccompression_gzip_init(&stream, level) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    // The bound is enough for the worst input, so one call compresses everything.
    let bound = Int(deflateBound(&stream, UInt(bytes.count)))
    return bytes.withUnsafeBufferPointer { input in
      [UInt8](unsafeUninitializedCapacity: bound) { output, count in
        stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(bound)
        let status = deflate(&stream, Z_FINISH)
        assert(status == Z_STREAM_END, "the output exceeds deflateBound")
        count = bound - Int(stream.avail_out)
      }
    }
  }
}
