import BlobStore
import EventLoop
import TestSupport
import Testing
import TransferModel

@testable import EngineAPI
@testable import TransferService

@Suite(.blocking) struct BodyStreamTests {
  private let pool = WorkerPool(name: "test-body", threads: 1)
  private let disk = Gate()
  private let bytes = [UInt8](repeating: 7, count: 200_000)

  /// A transfer ends while its last bytes are still on their way to the disk: readers get them before its end.
  @Test func theEndOfAFailedTransferWaitsForItsBytes() async throws {
    let file = writer(in: TemporaryDirectory.make("ferry-body"))
    let (live, stream, news) = reader(of: file)
    pool.submit { [disk] in disk.wait() }
    _ = file.append(bytes)
    file.discard(keepsForReaders: true)
    live.end(.failed)
    guard case .wait = stream.read(maximum: 1 << 20) else {
      Issue.record("the end came before the bytes")
      return
    }
    disk.open()
    #expect(await readUp(stream, news) == bytes)
  }

  /// What cannot be written does not keep readers waiting.
  @Test func bytesThatCannotBeWrittenEndTheStream() async throws {
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
    let (news, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    stream.start { bell.yield() }
    live.continue(in: file)
    return (live, stream, news)
  }

  /// Reads until the stream says that it has failed, each time it tells that there are news.
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
