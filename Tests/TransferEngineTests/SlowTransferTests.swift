import Addresses
import BlobStore
import EngineAPI
import EventLoop
import SimulatedStores
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

/// Transfers with a blob store that completes calls later, on threads of its own.
@Suite(.blocking, .endsInTime) struct SlowTransferTests {
  private static let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 17) }
  private static let kept = 1_500_000

  private let memory = MemoryBlobs()
  /// Sends the whole body, or the range from an offset.
  private let origin = TestOrigin { request, socket in
    let start = request["Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
    let rest = bytes[start...]
    let range = "Content-Range: bytes \(start)-\(bytes.count - 1)/\(bytes.count)\r\n"
    try socket.write(
      "HTTP/1.1 \(start > 0 ? "206 Partial Content" : "200 OK")\r\nETag: \"v\"\r\n"
        + (start > 0 ? range : "") + "Content-Length: \(rest.count)\r\n\r\n")
    try socket.write(Array(rest))
    return true
  }

  private func end(of job: TransferJob, _ receive: @escaping @Sendable (SlowBlobs.PendingCall) -> Void)
    async throws
    -> TransferOutcome
  {
    let settings = EngineSettings(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]),
      blobs: SlowBlobs(memory, receive), pool: ThreadPool(name: "test-write", threads: 2))
    let (ends, told) = AsyncStream.makeStream(of: TransferOutcome.self)
    let engine = try TransferEngine(workers: 1, settings: settings) { facts in
      for case .ended(_, let outcome) in facts { told.yield(outcome) }
    }
    engine.submit([job])
    var iterator = ends.makeAsyncIterator()
    let outcome = try #require(await iterator.next(isolation: #isolation))
    await engine.stop()
    return outcome
  }

  private func job(_ kind: TaskKind) -> TransferJob {
    TransferJob(
      task: TaskID(high: 1, low: 1), session: .shared, configuration: .init(), kind: kind,
      request: TransferRequest(url: origin.url), priority: 0.5)
  }

  @Test(arguments: [TaskKind.data, .download]) func largeBodyIsStored(_ kind: TaskKind) async throws {
    let network = ThreadPool(name: "test-network", threads: 3)
    let job = job(kind)
    let outcome = try await end(of: job) { waiting in network.submit { waiting.answer() } }
    #expect(outcome.error == nil && outcome.size == Int64(Self.bytes.count))
    let key = BlobKey(job.task, .body, outcome.blob)
    #expect(try memory.open(key).wait(at: 0, maximum: 8_000_000) == Self.bytes)
    #expect(memory.list(.tasks) == [key])
  }

  /// Returns a download that continues another one's bytes, and the point of these bytes.
  private func resumed() throws -> (TransferJob, DownloadPoint) {
    var job = job(.download)
    let point = DownloadPoint(
      partial: PartialBody(
        offset: Int64(Self.kept), total: Int64(Self.bytes.count), validator: "\"v\""),
      source: TaskID(high: 1, low: 2), blob: nil)
    try memory.create(point.key).write([Array(Self.bytes[..<Self.kept])], at: 0)
    job.resumePoint = .download(point)
    return (job, point)
  }

  /// A temporary failure of the store must not lose the stored bytes.
  @Test func `failed claim ends the transfer and keeps its resume point`() async throws {
    let (job, point) = try resumed()
    let outcome = try await end(of: job) { waiting in
      if waiting.call == .take { waiting.fail(BlobError(.refused, "no network")) } else { waiting.answer() }
    }
    #expect(outcome.error?.name == "resourceUnavailable" && outcome.partial == .download(point))
    #expect(memory.list(.tasks) == [point.key] && origin.requests.isEmpty)
  }

  @Test func `download without its kept bytes starts from the beginning`() async throws {
    let (job, point) = try resumed()
    memory.delete(point.key)
    let outcome = try await end(of: job) { $0.answer() }
    #expect(outcome.error == nil && outcome.size == Int64(Self.bytes.count))
    #expect(origin.requests.map { $0["Range"] } == [nil])
  }

  @Test func `download continues from kept bytes`() async throws {
    let network = ThreadPool(name: "test-network", threads: 3)
    let (job, _) = try resumed()
    let outcome = try await end(of: job) { waiting in network.submit { waiting.answer() } }
    #expect(outcome.error == nil && outcome.size == Int64(Self.bytes.count))
    let key = BlobKey(job.task, .body, outcome.blob)
    #expect(try memory.open(key).wait(at: 0, maximum: 8_000_000) == Self.bytes)
    #expect(memory.list(.tasks) == [key] && origin.requests.last?["Range"] == "bytes=\(Self.kept)-")
  }

  @Test func `failed write ends the transfer`() async throws {
    let network = ThreadPool(name: "test-network", threads: 3)
    let outcome = try await end(of: job(.download)) { waiting in
      network.submit {
        if waiting.call == .write {
          waiting.fail(BlobError(.refused, "no network"))
        } else {
          waiting.answer()
        }
      }
    }
    #expect(outcome.error?.name == "cannotWriteToFile" && memory.list(.tasks).isEmpty)
  }
}
