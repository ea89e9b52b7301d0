import BlobStore
import EventLoop
import TestSupport
import Testing
import TransferModel

@testable import EngineAPI
@testable import TransferService

@Suite(.blocking) struct BodyStreamTests {
  private let pool = ThreadPool(name: "test-body", threads: 1)
  private let disk = Gate()
  private let bytes = [UInt8](repeating: 7, count: 200_000)

  /// The transfer ends while its last bytes are still being written. Readers receive the bytes before the end.
  @Test func `failed transfer ends its stream after the last byte`() async throws {
    let file = writer(in: TemporaryDirectory.make("ferry-body"))
    let (live, stream, news) = reader(of: file)
    pool.submit { [disk] in disk.wait() }
    _ = file.append(bytes)
    file.discard(keepsForReaders: true)
    live.end(.failed)
    guard case .wait = stream.read(maximum: 1 << 20) else {
      Issue.record("the stream ended before its bytes arrived")
      return
    }
    disk.open()
    #expect(await readUp(stream, news) == bytes)
  }

  @Test func `unwritable bytes end the stream`() async throws {
    let file = writer(in: TemporaryDirectory.make("ferry-body") + "/none")
    let (live, stream, news) = reader(of: file)
    _ = file.append(bytes)
    file.discard(keepsForReaders: true)
    live.end(.failed)
    #expect(await readUp(stream, news).isEmpty)
  }

  private func writer(in directory: String) -> BlobWriter {
    let blobs = DirectoryBlobs(bodies: directory, files: directory)
    return BlobWriter(BlobKey(TaskID(high: 1, low: 1), .draft, nil), in: blobs, on: pool)
  }

  private func reader(of file: BlobWriter) -> (LiveBody, BodyStream, AsyncStream<Void>) {
    let live = LiveBody()
    let stream = BodyStream(live, pool: pool)
    let (news, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    stream.start { wakeup.yield() }
    live.continue(in: file)
    return (live, stream, news)
  }

  /// Reads at each call of `onReadable`, until the stream ends or fails.
  private func readUp(_ stream: BodyStream, _ news: AsyncStream<Void>) async -> [UInt8] {
    var bytes: [UInt8] = []
    var iterator = news.makeAsyncIterator()
    while true {
      switch stream.read(maximum: 48 * 1024) {
      case .bytes(let piece): bytes += piece
      case .wait: _ = await iterator.next()
      case .end, .failed: return bytes
      }
    }
  }
}
