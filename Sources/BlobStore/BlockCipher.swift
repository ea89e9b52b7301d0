internal import Crypto
internal import FoundationEssentials

/// Encrypts a body in blocks, each by itself, so that any part of it can be read: AES-256-GCM (NIST SP 800-38D) under a key that is for
/// this body alone. A block's number is its nonce. How long the body is has to be known from elsewhere.
package struct BlockCipher: Sendable {
  /// Bytes of a block in clear.
  package static let blockSize = 64 << 10
  private static let tagSize = 16
  /// Bytes of a block as it is stored.
  static let storedSize = blockSize + tagSize

  private let key: SymmetricKey

  /// - Parameter key: 32 bytes.
  package init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

  package static func makeKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }

  /// The blocks of a whole body, as they are stored.
  package func seal(_ body: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: body.count, by: Self.blockSize).map { start in
      seal(body[start..<min(start + Self.blockSize, body.count)], number: start / Self.blockSize)
    }
  }

  /// One block as it is stored. All but the last have `blockSize` bytes.
  package func seal(_ block: ArraySlice<UInt8>, number: Int) -> [UInt8] {
    guard let box = try? AES.GCM.seal(block, using: key, nonce: Self.nonce(number)) else {
      preconditionFailure("AES-GCM takes any block")
    }
    return Array(box.ciphertext) + Array(box.tag)
  }

  /// Nil if it was changed, or is another block than the one of that number.
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
    guard let nonce = try? AES.GCM.Nonce(data: bytes) else { preconditionFailure("a nonce has 12 bytes") }
    return nonce
  }
}
