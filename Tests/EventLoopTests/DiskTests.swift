import EventLoop
import Glibc
import TestSupport
import Testing

@Suite(.blocking) struct DiskTests {
  /// The call that each end-to-end test would end with, were one made on a loop.
  @Test func aLoopThatWaitsForTheDiskTraps() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      let loop = EventLoop(name: "test-disk")
      loop.start()
      loop.perform { _ = Disk.unlink("/nonexistent/file") }
      sleep(10)
    }
  }

  @Test func othersMayWait() {
    #expect(Disk.unlink("/nonexistent/file") == -1 && errno == ENOENT)
    #expect(Disk.size("/nonexistent/file") == nil && Disk.names(in: "/nonexistent").isEmpty)
  }

  /// A loop that drops a file has it closed by another thread.
  @Test func aLoopHasFilesClosed() async throws {
    var ends = [Int32](repeating: -1, count: 2)
    #expect(pipe(&ends) == 0)
    let loop = EventLoop(name: "test-disk")
    loop.start()
    let (reader, writer) = (ends[0], ends[1])
    loop.perform { Disk.close(writer) }
    var byte: UInt8 = 0
    #expect(read(reader, &byte, 1) == 0)  // returns when the other end is closed
    close(reader)
    await loop.stopAndJoin()
  }
}
