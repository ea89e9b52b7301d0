internal import Crypto
internal import FoundationEssentials

/// A cipher that encrypts each block of a body separately, so that any part can be read. It uses AES-256-GCM (NIST SP 800-38D) with a key
/// for this body alone. The nonce is the block's number. The encrypted form does not state the body's length.
package struct BlockCipher: Sendable {
  /// The size of a plain block in bytes.
  package static let blockSize = 64 << 10
  private static let tagSize = 16
  /// The size of an encrypted block in bytes.
  static let storedSize = blockSize + tagSize

  private let key: SymmetricKey

  /// Makes a cipher.
  /// - Parameter key: 32 bytes.
  package init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

  package static func makeKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }

  /// Returns the encrypted blocks of a whole body.
  package func seal(_ body: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: body.count, by: Self.blockSize).map { start in
      seal(body[start..<min(start + Self.blockSize, body.count)], number: start / Self.blockSize)
    }
  }

  /// Encrypts one block. All blocks but the last must have `blockSize` bytes.
  package func seal(_ block: ArraySlice<UInt8>, number: Int) -> [UInt8] {
    guard let box = try? AES.GCM.seal(block, using: key, nonce: Self.nonce(number)) else {
      preconditionFailure("AES-GCM encrypts every block")
    }
    return Array(box.ciphertext) + Array(box.tag)
  }

  /// Decrypts one block; `nil` if the block was changed or has another number.
  func open(_ block: [UInt8], number: Int) -> [UInt8]? {
    guard block.count > Self.tagSize,
      let box = try? AES.GCM.SealedBox(
        nonce: Self.nonce(number), ciphertext: block.dropLast(Self.tagSize), tag: block.suffix(Self.tagSize)),
      let opened = try? AES.GCM.open(box, using: key)
    else { return nil }
    return Array(opened)
  }

  private static func nonce(_ number: Int) -> AES.GCM.Nonce {
    let bytes = withUnsafeBytes(of: UInt64(number).bigEndian) { [UInt8](repeating: 0, count: 4) + $0 }
    guard let nonce = try? AES.GCM.Nonce(data: bytes) else {
      preconditionFailure("a nonce must have 12 bytes")
    }
    return nonce
  }
}
