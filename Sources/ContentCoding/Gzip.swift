internal import CCompression

/// One member of the gzip format (RFC 1952), whole.
package enum Gzip {
  /// The quickest: a page of JSON becomes a tenth of its size in any case.
  private static let level: Int32 = 1

  /// - Parameter bytes: less than 2 GiB.
  /// - Returns: nil where there is no memory for it.
  package static func compress(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard bytes.count <= Int32.max, ccompression_gzip_init(&stream, level) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    // All of it at once: the bound is what the worst input needs.
    let bound = Int(deflateBound(&stream, UInt(bytes.count)))
    return bytes.withUnsafeBufferPointer { input in
      [UInt8](unsafeUninitializedCapacity: bound) { output, count in
        stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(bound)
        let status = deflate(&stream, Z_FINISH)
        assert(status == Z_STREAM_END, "deflateBound is the most that there can be")
        count = bound - Int(stream.avail_out)
      }
    }
  }
}
