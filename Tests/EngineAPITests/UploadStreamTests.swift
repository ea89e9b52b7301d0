import Synchronization
import TestSupport
import Testing

@testable import EngineAPI

@Suite struct UploadStreamTests {
  private func read(_ stream: UploadStream, _ count: Int = 1024) -> (UploadStream.ReadResult, [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: count)
    let disposition = buffer.withUnsafeMutableBytes { stream.pull(into: $0) }
    guard case .bytes(let number) = disposition else { return (disposition, []) }
    return (disposition, Array(buffer[..<number]))
  }

  @Test func `bytes are read in their order`() async {
    let stream = UploadStream(length: nil)
    #expect(read(stream).0 == .wait)
    #expect(await stream.write([1, 2, 3]))
    #expect(await stream.write([]))
    #expect(await stream.write([4]))
    #expect(read(stream, 2).1 == [1, 2])
    #expect(read(stream).1 == [3, 4])
    #expect(read(stream).0 == .wait)
  }

  @Test func `waiting reader is called once`() async {
    let calls = Atomic(0)
    let stream = UploadStream(length: nil)
    stream.onReady { calls.add(1, ordering: .relaxed) }
    #expect(await stream.write([1]))
    let before = calls.load(ordering: .relaxed)
    #expect(before == 0)
    _ = read(stream)
    #expect(read(stream).0 == .wait)
    #expect(await stream.write([2]))
    #expect(await stream.write([3]))
    let after = calls.load(ordering: .relaxed)
    #expect(after == 1)
  }

  @Test func `full stream makes the writer wait`() async {
    let stream = UploadStream(length: nil)
    let isDone = Atomic(false)
    async let wrote: Bool = {
      let answer = await stream.write([UInt8](repeating: 7, count: UploadStream.capacity + 1))
      isDone.store(true, ordering: .relaxed)
      return answer
    }()
    while read(stream, 1).0 == .wait { await Task.yield() }
    let wasDone = isDone.load(ordering: .relaxed)
    #expect(!wasDone)
    #expect(read(stream, UploadStream.capacity / 2).1.count == UploadStream.capacity / 2)
    #expect(await wrote)
  }

  @Test func `end follows the bytes`() async {
    let stream = UploadStream(length: 1)
    #expect(await stream.write([9]))
    async let outcome = stream.finish()
    #expect(read(stream).1 == [9])
    while read(stream).0 == .wait { await Task.yield() }
    #expect(read(stream).0 == .end)
    stream.markSent()
    #expect(await outcome == .sent)
    #expect(await stream.finish() == .sent)
  }

  @Test func `abandoned stream refuses writes`() async {
    let stream = UploadStream(length: nil)
    stream.cancel()
    #expect(await stream.write([1]) == false)
    #expect(await stream.finish() == .abandoned)
    stream.markSent()
    #expect(await stream.finish() == .abandoned)
  }

  @Test func `abandoned stream resumes a waiting writer`() async {
    let stream = UploadStream(length: nil)
    async let wrote = stream.write([UInt8](repeating: 7, count: UploadStream.capacity + 1))
    while read(stream, 1).0 == .wait { await Task.yield() }
    stream.cancel()
    #expect(await wrote == false)
  }

  @Test func `disconnected client fails the read`() async {
    let stream = UploadStream(length: nil)
    #expect(await stream.write([1]))
    stream.fail()
    #expect(read(stream).0 == .failed)
  }

  // MARK: Content-Length

  /// The last byte waits for the end, so a body that is too long is never sent as if it were complete.
  @Test func `last byte waits for the end`() async {
    let stream = UploadStream(length: nil, expected: 3)
    #expect(stream.length == 3 && stream.fault == nil)
    #expect(await stream.write([1, 2, 3]))
    #expect(read(stream).1 == [1, 2])
    #expect(read(stream).0 == .wait)
    async let outcome = stream.finish()
    var last: [UInt8] = []
    while last.isEmpty {
      last = read(stream).1
      await Task.yield()
    }
    #expect(last == [3])
    stream.markSent()
    #expect(await outcome == .sent)
  }

  @Test func `body of another length is refused`() async {
    let longer = UploadStream(length: nil, expected: 3)
    #expect(await longer.write([1, 2, 3]))
    #expect(await longer.write([4]) == false)
    let shorter = UploadStream(length: nil, expected: 3)
    #expect(await shorter.write([1, 2]))
    #expect(await shorter.finish() == .abandoned)
    let announced = UploadStream(length: 4, expected: 3)
    for stream in [longer, shorter, announced] {
      #expect(stream.fault != nil && read(stream).0 == .failed)
    }
  }

  /// For all sizes and orders of reads and writes, every byte is read once, in order.
  @Test(arguments: 1...8) func `every byte is read once`(_ seed: UInt64) async {
    var generator = SplitMix64(seed: seed)
    let sizes = (0..<60).map { _ in Int.random(in: 0...40_000, using: &generator) }
    let total = sizes.reduce(0, +)
    let stream = UploadStream(length: Int64(total))
    async let outcome = {
      var next: UInt8 = 0
      for size in sizes {
        var chunk = [UInt8](repeating: 0, count: size)
        for index in chunk.indices {
          chunk[index] = next
          next &+= 1
        }
        _ = await stream.write(chunk)
      }
      return await stream.finish()
    }()
    var expected: UInt8 = 0
    var count = 0
    var isRight = true
    loop: while true {
      let (disposition, bytes) = read(stream, Int.random(in: 1...30_000, using: &generator))
      switch disposition {
      case .end: break loop
      case .wait: await Task.yield()
      default:
        for byte in bytes {
          isRight = isRight && byte == expected
          expected &+= 1
        }
        count += bytes.count
      }
    }
    #expect(isRight && count == total)
    stream.markSent()
    #expect(await outcome == .sent)
  }
}
