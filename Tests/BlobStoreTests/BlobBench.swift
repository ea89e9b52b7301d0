import BlobStore
import Crypto
import EventLoop
import SimulatedStores
import TestSupport
import TransferModel

/// The kinds of stores: a directory, unnamed files in memory, a simulated memory, and the latter with delayed results from other threads.
enum BlobKind: CaseIterable {
  case directory, session, memory, slow

  /// The kinds of stores whose blobs outlive the process.
  static let durable: [BlobKind] = [.directory, .memory, .slow]
}

/// An empty store of a kind, with helpers for tests.
struct BlobBench: Sendable {
  static let capacity = 2 << 20
  static let task = TaskID(high: 1, low: 1)
  static let time = Timestamp(seconds: 1_800_000_000)

  let store: any BlobStore
  let pool = ThreadPool(name: "test-blob", threads: 2)

  init(_ kind: BlobKind) throws {
    switch kind {
    case .directory:
      let place = TemporaryDirectory.make("ferry-blobs")
      let directory = DirectoryBlobs(bodies: place + "/bodies", files: place + "/files")
      try directory.prepare()
      store = directory
    case .session: store = SessionBlobs(MemoryFiles(capacity: Int64(Self.capacity)), of: .shared)
    case .memory: store = MemoryBlobs(capacity: Self.capacity)
    case .slow:
      let network = ThreadPool(name: "test-network", threads: 3)
      store = SlowBlobs(MemoryBlobs(capacity: Self.capacity)) { waiting in
        network.submit { waiting.answer() }
      }
    }
  }

  static func key(_ part: BlobKey.Part, _ epoch: Int64 = 1, attempt: Int = 0) -> BlobKey {
    BlobKey(task, part, BlobStamp(epoch: epoch, attempt: attempt))
  }

  static func sha256(_ bytes: [UInt8]) -> String { Hexadecimal.text(Array(SHA256.hash(data: bytes))) }

  func writer(_ key: BlobKey, in store: (any BlobStore)? = nil) -> BlobWriter {
    BlobWriter(key, in: store ?? self.store, on: pool)
  }

  /// Writes a whole blob.
  func put(_ bytes: [UInt8], _ key: BlobKey, as draft: BlobKey? = nil, in store: (any BlobStore)? = nil)
    async throws
  {
    let writer = writer(draft ?? key.part(.draft), in: store)
    _ = writer.append(bytes)
    let (size, sha256) = try await finish(writer, as: key).get()
    guard size == Int64(bytes.count), sha256 == Self.sha256(bytes) else {
      throw BlobError(.incomplete, "another digest")
    }
  }

  func finish(_ writer: BlobWriter, as key: BlobKey) async -> BlobWriter.Finished {
    await withCheckedContinuation { continuation in
      writer.finish(as: key) { continuation.resume(returning: $0) }
    }
  }

  /// Returns the whole blob; `nil` if it does not exist.
  func bytes(_ key: BlobKey) -> [UInt8]? {
    guard let reader = try? store.open(key) else { return nil }
    return Self.bytes(of: reader)
  }

  static func bytes(of reader: any BlobReader) -> [UInt8]? { reader.wait(at: 0, maximum: 2 * capacity) }

  /// Reads, after a fetch if necessary.
  func read(_ reader: any BlobReader, at offset: Int64, maximum: Int) async -> BlobRead<[UInt8]> {
    let outcome = reader.read(at: offset, maximum: maximum)
    guard outcome == .notCached else { return outcome }
    await withCheckedContinuation { continuation in
      pool.submit { reader.fetch(at: offset, count: maximum) { _ in continuation.resume() } }
    }
    return reader.read(at: offset, maximum: maximum)
  }

  /// Returns the reason of a failure; `nil` after a success.
  func refusal(_ body: () throws(BlobError) -> Void) -> BlobError.Reason? {
    do throws(BlobError) { try body() } catch { return error.reason }
    return nil
  }

  func names() -> Set<BlobKey> { Set(BlobCategory.allCases.flatMap { store.list($0) }) }
}
