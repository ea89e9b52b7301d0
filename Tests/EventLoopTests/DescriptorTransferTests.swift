import Glibc
import Testing

@testable import EventLoop

@Suite struct DescriptorTransferTests {
  @Test func `written bytes are read in pieces until the end`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    #expect(DescriptorTransfer.writeAll(Array(1...10), to: ends[1]))
    close(ends[1])
    #expect(DescriptorTransfer.read(ends[0], upTo: 6) == Array(1...6))
    #expect(DescriptorTransfer.read(ends[0], upTo: 6) == Array(7...10))
    #expect(DescriptorTransfer.read(ends[0], upTo: 6) == [])
  }

  @Test func `failure is reported with errno`() {
    let isWritten = DescriptorTransfer.writeAll([1], to: -1)
    let writeError = errno
    let bytes = DescriptorTransfer.read(-1, upTo: 1)
    let readError = errno
    #expect(!isWritten && writeError == EBADF)
    #expect(bytes == nil && readError == EBADF)
  }
}
