import Curl
import EngineAPI
import Testing

@testable import TransferEngine

@Suite struct UploadSourceTests {
  /// A streamed body pauses libcurl while it has no bytes, ends once, and cannot be sent a second time.
  @Test func `streamed body is read once`() async {
    let stream = UploadStream(length: nil)
    let source: any UploadSource = stream
    func read() -> UploadDisposition {
      var buffer = [UInt8](repeating: 0, count: 8)
      return buffer.withUnsafeMutableBytes { source.read(into: $0) }
    }
    #expect(read() == .paused && !source.rewind())
    #expect(await stream.write([1, 2]))
    #expect(read() == .bytes(2))
    stream.fail()
    #expect(read() == .failed)
    let empty = UploadStream(length: 0)
    async let finished = empty.finish()
    var buffer = [UInt8](repeating: 0, count: 8)
    while buffer.withUnsafeMutableBytes({ (empty as any UploadSource).read(into: $0) }) == .paused {
      await Task.yield()
    }
    empty.markSent()
    #expect(await finished == .sent)
  }
}
