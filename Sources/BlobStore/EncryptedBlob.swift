internal import Synchronization

/// Reads a body that `BlockCipher` has encrypted, block by block. The last block stays in clear: libcurl reads it in small pieces.
final class EncryptedBlob: Sendable {
  private struct Block {
    var number = -1
    /// nil: it cannot be read, or was changed.
    var bytes: [UInt8]?
  }

  private let source: BlobReader
  private let cipher: BlockCipher
  /// Bytes in clear.
  private let size: Int64
  private let last = Mutex(Block())

  init(_ source: BlobReader, _ cipher: BlockCipher, size: Int64) {
    self.source = source
    self.cipher = cipher
    self.size = size
  }

  /// Fills the buffer from `offset` on, up to the end of a block, as far as that is in memory.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobReader.Outcome<Int> {
    guard offset < size else { return .end }
    let number = Self.number(of: offset)
    return last.withLock { last in
      if last.number != number {
        switch source.read(at: place(number), maximum: storedCount(number)) {
        case .bytes(let stored) where stored.count == storedCount(number):
          last = Block(number: number, bytes: cipher.open(stored, number: number))
        case .bytes, .notCached: return .notCached
        case .end, .failed: return .failed
        }
      }
      guard let bytes = last.bytes else { return .failed }
      let rest = bytes[Int(offset - Int64(number * BlockCipher.blockSize))...].prefix(buffer.count)
      buffer.copyBytes(from: rest)
      return .bytes(rest.count)
    }
  }

  /// At most `maximum` bytes from `offset` on, and none at the end; waits for the disk. Nil if they cannot be had.
  func wait(at offset: Int64, maximum: Int) -> [UInt8]? {
    let end = min(size, offset + Int64(maximum))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(max(0, end - offset)))
    while offset + Int64(bytes.count) < end {
      let place = offset + Int64(bytes.count)
      let number = Self.number(of: place)
      guard let block = fetch(number) else { return nil }
      bytes += block[Int(place - Int64(number * BlockCipher.blockSize))...].prefix(Int(end - place))
    }
    return bytes
  }

  /// Reads a block, waiting for the disk, and keeps it for `read`; nil if it cannot be read.
  @discardableResult
  private func fetch(_ number: Int) -> [UInt8]? {
    let stored = source.wait(at: place(number), maximum: storedCount(number))
    let bytes = stored.flatMap { $0.count == storedCount(number) ? cipher.open($0, number: number) : nil }
    last.withLock { $0 = Block(number: number, bytes: bytes) }
    return bytes
  }

  /// Brings `count` bytes from `offset` on into memory, and decrypts the first block of them; waits for the disk.
  func prefetch(at offset: Int64, count: Int) {
    guard offset < size else { return }
    let (first, end) = (Self.number(of: offset), Self.number(of: min(size, offset + Int64(count)) - 1))
    _ = source.wait(at: place(first), maximum: (end - first + 1) * BlockCipher.storedSize)
    fetch(first)
  }

  private static func number(of offset: Int64) -> Int { Int(offset) / BlockCipher.blockSize }
  private func place(_ number: Int) -> Int64 { Int64(number * BlockCipher.storedSize) }

  /// Bytes of a block as it is stored.
  private func storedCount(_ number: Int) -> Int {
    let rest = size - Int64(number * BlockCipher.blockSize)
    return Int(min(rest, Int64(BlockCipher.blockSize))) + BlockCipher.storedSize - BlockCipher.blockSize
  }
}
