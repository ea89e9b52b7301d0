/// Bytes of a netlink message in the kernel's byte order, with bounds checks.
struct NetlinkBytes {
  private let slice: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { slice = bytes[...] }
  private init(_ slice: ArraySlice<UInt8>) { self.slice = slice }

  var count: Int { slice.count }

  /// Returns the number at an offset; `nil` if it is not complete.
  func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as _: Number.Type) -> Number? {
    guard offset >= 0, offset <= count - MemoryLayout<Number>.size else { return nil }
    return slice.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
  }

  /// Returns the part between two offsets, as far as it exists.
  func part(from offset: Int, to end: Int) -> NetlinkBytes {
    let from = min(max(offset, 0), count)
    let to = min(max(end, from), count)
    return NetlinkBytes(slice[(slice.startIndex + from)..<(slice.startIndex + to)])
  }
  func part(from offset: Int) -> NetlinkBytes { part(from: offset, to: count) }

  /// The text up to its zero byte.
  var text: String { String(decoding: slice.prefix { $0 != 0 }, as: UTF8.self) }
}

extension NetlinkBytes {
  /// Returns the blocks, each of which begins with its own length. The blocks are aligned to 4 bytes. An invalid block ends the list.
  /// - Parameters:
  ///   - header: the minimum length.
  ///   - length: reads the length from a block's head.
  func blocks(header: Int, length: (NetlinkBytes) -> Int?) -> [NetlinkBytes] {
    var blocks: [NetlinkBytes] = []
    var rest = self
    while let size = length(rest), size >= header, size <= rest.count {
      blocks.append(rest.part(from: 0, to: size))
      rest = rest.part(from: (size + 3) & ~3)
    }
    return blocks
  }
}
