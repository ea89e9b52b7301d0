import BlobStore
import Crypto
import EventLoop
import SimulatedStores
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferService

/// A service with a blob store that completes calls later, from threads of its own.
@Suite(.blocking, .endsInTime) struct SlowBlobsTests {
  private static let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 13) }

  private let origin = TestOrigin { request, socket in
    if request.method == "PUT" {
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    } else {
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.bytes.count)\r\n\r\n")
      try socket.write(Self.bytes)
    }
    return true
  }

  /// Reads all bytes of a stream. Returns `nil` if it fails.
  private static func read(_ stream: BodyStream) async -> [UInt8]? {
    let (news, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    stream.start { wakeup.yield() }
    var (bytes, iterator): ([UInt8], _) = ([], news.makeAsyncIterator())
    while true {
      switch stream.read(maximum: 100_000) {
      case .bytes(let piece): bytes += piece
      case .wait: _ = await iterator.next()
      case .end: return bytes
      case .failed: return nil
      }
    }
  }

  private func ended(_ kind: TaskKind, _ type: SessionType, _ bench: LiveServiceBench) async throws
    -> TransferTask
  {
    let session = try await bench.session(type)
    return try await bench.end(of: bench.task(origin.url, in: session, kind: kind).id)
  }

  private func body(of task: TransferTask, _ bench: LiveServiceBench) async throws -> [UInt8]? {
    guard case .file(let task, let stream) = try await bench.service.bodies.body(of: task) else { return nil }
    return await Self.read(stream(0..<(task.body?.size ?? 0)))
  }

  @Test(arguments: [TaskKind.data, .download], [SessionType.default, .ephemeral])
  func bodyIsReadKeptAndDeleted(_ kind: TaskKind, _ type: SessionType) async throws {
    let bench = try await LiveServiceBench(hasSlowBlobs: true)
    let task = try await ended(kind, type, bench)
    #expect(task.error == nil && task.body?.size == Int64(Self.bytes.count))
    #expect(try await body(of: task, bench) == Self.bytes)
    let file = try await bench.service.files.keepBody(of: task, for: .default) { _ in nil }
    #expect(
      await Self.read(try await bench.service.files.open(file)(10..<2_000_000))
        == Array(Self.bytes[10..<2_000_000]))
    await #expect(throws: ServiceError.self) { try await body(of: bench.service.tasks.task(task.id), bench) }
    try await bench.service.files.delete(file)
    await #expect(throws: ServiceError.self) { _ = try await bench.service.files.open(file) }
    await bench.stop()
  }

  @Test func storedFilesAndLargeBodiesAreUploaded() async throws {
    let bench = try await LiveServiceBench(hasSlowBlobs: true)
    let reception = try bench.service.files.receive()
    for start in stride(from: 0, to: Self.bytes.count, by: 200_000) {
      await reception.write(Array(Self.bytes[start..<start + 200_000]))
    }
    let finished = try await bench.service.files.finish(reception, of: .default, contentType: nil)
    let file = try await bench.service.files.keep(finished)
    let session = try await bench.session()
    for body in [RequestContent.file(file.id, size: file.size), .data(Self.bytes)] {
      var specification = LiveServiceBench.specification(origin.url, kind: .data)
      (specification.request.method, specification.request.body) = ("PUT", body)
      let task = try await bench.service.tasks.create(
        [specification], in: bench.service.sessions.session(session))[0]
      #expect(try await bench.end(of: task.id).error == nil)
    }
    #expect(origin.requests.map(\.body) == [Self.bytes, Self.bytes])
    await bench.stop()
  }

  private static func isUnavailable(_ error: ServiceError?) -> Bool {
    if case .storeUnavailable = error { true } else { false }
  }

  private static func error(_ body: () async throws(ServiceError) -> Void) async -> ServiceError? {
    do throws(ServiceError) { try await body() } catch { return error }
    return nil
  }

  /// The client would believe "not found" and would not try again.
  @Test(arguments: [SlowBlobs.Call.open, .fetch])
  func storeThatFailsForAWhileIsReportedAsUnavailable(_ call: SlowBlobs.Call) async throws {
    let bench = try await LiveServiceBench(hasSlowBlobs: true)
    let (service, failing) = (bench.service, bench.slowBlobs)
    let task = try await ended(.download, .default, bench)
    let small = try await bench.service.files.keepBody(
      of: ended(.download, .ephemeral, bench), for: .default
    ) { _ in nil }
    failing.refuse(call)
    if call == .open {
      #expect(
        Self.isUnavailable(
          await Self.error { () throws(ServiceError) in _ = try await service.bodies.body(of: task) }))
      #expect(
        Self.isUnavailable(
          await Self.error { () throws(ServiceError) in _ = try await service.files.open(small) }))
    } else {
      #expect(try await body(of: task, bench) == nil)
    }
    failing.refuse()
    #expect(try await body(of: task, bench) == Self.bytes)
    _ = try await service.files.open(small)
    await bench.stop()
  }

  @Test func restartedServiceKeepsBodies() async throws {
    let first = try await LiveServiceBench(hasSlowBlobs: true)
    let task = try await ended(.download, .default, first)
    let second = try await first.restarted()
    try await second.service.catchUp()
    try await second.service.collectOrphans()
    #expect(try await body(of: second.service.tasks.task(task.id), second) == Self.bytes)
    await second.stop()
  }
}
