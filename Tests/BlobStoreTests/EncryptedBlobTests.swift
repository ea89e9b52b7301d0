import BlobStore
import EventLoop
import SimulatedStores
import Testing
import TransferModel

/// Request bodies that are encrypted in blocks.
@Suite struct EncryptedBlobTests {
  private static let sizes = [1, 100, 65_535, 65_536, 65_537, 131_072, 200_001]
  private static let block = BlockCipher.blockSize + 16

  private static func bytes(_ size: Int) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<size).map { _ in random.next() }
  }

  /// Stores a body, and returns the values to decrypt it.
  private func put(_ bytes: [UInt8], in bench: BlobBench) async throws -> SpooledBody {
    let body = SpooledBody(
      size: Int64(bytes.count), blob: BlobStamp(epoch: 1), key: BlockCipher.makeKey())
    let stored = BlockCipher(key: body.key).seal(bytes).flatMap(\.self)
    try await bench.put(stored, body.blobKey(of: BlobBench.task))
    return body
  }

  private func reader(_ body: SpooledBody, in bench: BlobBench) throws -> EncryptedBlob {
    EncryptedBlob(try bench.store.open(body.blobKey(of: BlobBench.task)), body)
  }

  @Test(arguments: BlobKind.allCases, sizes) func anyPartIsRead(_ kind: BlobKind, _ size: Int) async throws {
    let (bench, bytes) = (try BlobBench(kind), Self.bytes(size))
    let body = try await put(bytes, in: bench)
    let reader = try reader(body, in: bench)
    #expect(reader.wait(at: 0, maximum: size) == bytes && reader.wait(at: 0, maximum: size + 9) == bytes)
    #expect(
      reader.wait(at: Int64(size), maximum: 9) == [] && reader.read(at: Int64(size), maximum: 9) == .end)
    for _ in 0..<100 {
      let start = Int.random(in: 0..<size)
      let count = Int.random(in: 1...100_000)
      #expect(reader.wait(at: Int64(start), maximum: count) == Array(bytes[start...].prefix(count)))
      let outcome = await bench.read(reader, at: Int64(start), maximum: count)
      // A read ends at the end of a block.
      let end = min(size, start + count, (start / BlockCipher.blockSize + 1) * BlockCipher.blockSize)
      #expect(outcome == .bytes(Array(bytes[start..<end])))
    }
  }

  @Test(arguments: BlobKind.allCases) func `stored body has no plain text`(_ kind: BlobKind) async throws {
    let (bench, bytes) = (try BlobBench(kind), [UInt8](repeating: 0x61, count: 200_001))
    let body = try await put(bytes, in: bench)
    let stored = try #require(
      try bench.store.open(body.blobKey(of: BlobBench.task)).wait(at: 0, maximum: 400_000))
    #expect(stored.count == bytes.count + 4 * 16)
    let blocks = stride(from: 0, to: stored.count, by: Self.block).map { stored[$0...].prefix(32) }
    #expect(Set(blocks).count == 4, "equal blocks have different ciphertexts")
    #expect(stored.firstRange(of: [UInt8](repeating: 0x61, count: 16)) == nil)
    let other = EncryptedBlob(
      try bench.store.open(body.blobKey(of: BlobBench.task)),
      SpooledBody(size: body.size, blob: body.blob, key: BlockCipher.makeKey()))
    #expect(other.wait(at: 0, maximum: 10) == nil)
  }

  private enum Damage: CaseIterable { case bit, tag, swapped, short, empty }

  @Test(arguments: Damage.allCases) private func `changed body is unreadable`(_ damage: Damage) async throws {
    let (bench, bytes) = (try BlobBench(.directory), Self.bytes(200_001))
    let body = SpooledBody(size: 200_001, blob: BlobStamp(epoch: 1), key: BlockCipher.makeKey())
    var stored = BlockCipher(key: body.key).seal(bytes).flatMap(\.self)
    switch damage {
    case .bit: stored[70_000] ^= 1
    case .tag: stored[2 * Self.block - 1] ^= 0x80
    case .swapped:
      let first = Array(stored[..<Self.block])
      stored.replaceSubrange(0..<Self.block, with: stored[Self.block..<2 * Self.block])
      stored.replaceSubrange(Self.block..<2 * Self.block, with: first)
    case .short: stored.removeLast(150_000)
    case .empty: stored = []
    }
    try await bench.put(stored, body.blobKey(of: BlobBench.task))
    let reader = try reader(body, in: bench)
    #expect(reader.wait(at: 0, maximum: 200_001) == nil)
    reader.fetch(at: 70_000, count: 10) { _ in }
    #expect(reader.read(at: 70_000, maximum: 10) == .failed)
    // The block before the damage can still be read.
    if damage == .bit { #expect(reader.wait(at: 0, maximum: 65_536) == Array(bytes[..<65_536])) }
  }
}
