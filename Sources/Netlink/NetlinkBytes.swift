/// Bytes that the kernel wrote, in its byte order, read without ever going beyond them.
struct NetlinkBytes {
  private let slice: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { slice = bytes[...] }
  private init(_ slice: ArraySlice<UInt8>) { self.slice = slice }

  var count: Int { slice.count }

  /// The number at that place; nil where it is not all there.
  func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as _: Number.Type) -> Number? {
    guard offset >= 0, offset <= count - MemoryLayout<Number>.size else { return nil }
    return slice.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
  }

  /// What is there of it.
  func part(from offset: Int, to end: Int) -> NetlinkBytes {
    let from = min(max(offset, 0), count)
    let to = min(max(end, from), count)
    return NetlinkBytes(slice[(slice.startIndex + from)..<(slice.startIndex + to)])
  }
  func part(from offset: Int) -> NetlinkBytes { part(from: offset, to: count) }

  /// Up to its zero byte.
  var text: String { String(decoding: slice.prefix { $0 != 0 }, as: UTF8.self) }
}

extension NetlinkBytes {
  /// Blocks that begin with their own length, the next one aligned to 4 bytes; ends at what is no such block.
  /// - Parameters:
  ///   - header: the least length.
  ///   - length: reads it from a block's head.
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
