internal import Synchronization
package import TransferModel

/// A reader of a body that `BlockCipher` has encrypted. The last block stays decrypted, because libcurl reads it in small pieces.
package final class EncryptedBlob: BlobReader {
  private struct Block {
    var number = -1
    /// The decrypted bytes; `nil` if the block cannot be read or was changed.
    var bytes: [UInt8]?
  }

  private let source: any BlobReader
  private let cipher: BlockCipher
  /// The size of the decrypted body in bytes.
  private let size: Int64
  private let last = Mutex(Block())

  /// Decrypts the body of a request, which `source` reads in encrypted form.
  package init(_ source: any BlobReader, _ body: SpooledBody) {
    self.source = source
    cipher = BlockCipher(key: body.key)
    size = body.size
  }

  /// Fills the buffer from `offset` on, up to the end of a block, if the block is in memory.
  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int> {
    guard offset < size else { return .end }
    let number = Self.number(of: offset)
    return last.withLock { last in
      guard keep(number, in: &last) else { return .notCached }
      guard let bytes = last.bytes else { return .failed }
      let rest = bytes[Int(offset - Int64(number * BlockCipher.blockSize))...].prefix(buffer.count)
      buffer.copyBytes(from: rest)
      return .bytes(rest.count)
    }
  }

  /// Fetches all blocks that contain some of the bytes, and decrypts the first.
  package func fetch(at offset: Int64, count: Int, _ done: @escaping BlobCompletion<Void>) {
    guard offset < size else { return done(.success(())) }
    let (first, end) = (Self.number(of: offset), Self.number(of: min(size, offset + Int64(count)) - 1))
    source.fetch(at: place(first), count: (end - first + 1) * BlockCipher.storedSize) { [self] fetched in
      done(fetched.flatMap { decrypt(first) })
    }
  }

  package func cancel() { source.cancel() }

  private func decrypt(_ number: Int) -> Result<Void, BlobError> {
    let canBeRead = last.withLock { last in
      // Another fetch may return different bytes, so a failed block is decrypted again.
      if last.bytes == nil { last = Block() }
      return !keep(number, in: &last) || last.bytes != nil
    }
    return canBeRead ? .success(()) : .failure(BlobError(.incomplete, "read: block \(number) was changed"))
  }

  /// Decrypts a block and keeps the result; `false` if the stored block is not in memory.
  private func keep(_ number: Int, in last: inout Block) -> Bool {
    guard last.number != number else { return true }
    var stored: [UInt8] = []
    while stored.count < storedCount(number) {
      switch source.read(at: place(number) + Int64(stored.count), maximum: storedCount(number) - stored.count)
      {
      case .bytes(let more): stored = stored.isEmpty ? more : stored + more
      case .notCached: return false
      case .end, .failed:
        last = Block(number: number)
        return true
      }
    }
    last = Block(number: number, bytes: cipher.open(stored, number: number))
    return true
  }

  private static func number(of offset: Int64) -> Int { Int(offset) / BlockCipher.blockSize }
  private func place(_ number: Int) -> Int64 { Int64(number * BlockCipher.storedSize) }

  /// Returns the size of an encrypted block in bytes.
  private func storedCount(_ number: Int) -> Int {
    let rest = size - Int64(number * BlockCipher.blockSize)
    return Int(min(rest, Int64(BlockCipher.blockSize))) + BlockCipher.storedSize - BlockCipher.blockSize
  }
}
